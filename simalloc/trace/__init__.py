"""What a program asked for: the trace model, its files and its statistics."""

from simalloc.trace.trace import MAX_SIZE, OPTIONAL_COLUMNS, Op, Trace

__all__ = ["MAX_SIZE", "OPTIONAL_COLUMNS", "Op", "Trace"]
