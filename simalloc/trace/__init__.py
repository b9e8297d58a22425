"""The requests of a program: the trace model, its files and its statistics."""

from simalloc.trace.events import MAX_SIZE, Op
from simalloc.trace.reader import TraceReader, read_trace
from simalloc.trace.shapes import ReadEvents, ReplayedEvents
from simalloc.trace.source import EventSource
from simalloc.trace.trace import Trace
from simalloc.trace.trace_file import TraceFile, open_trace
from simalloc.trace.writer import TraceWriter, write_trace

__all__ = [
    "MAX_SIZE",
    "EventSource",
    "Op",
    "ReadEvents",
    "ReplayedEvents",
    "Trace",
    "TraceFile",
    "TraceReader",
    "TraceWriter",
    "open_trace",
    "read_trace",
    "write_trace",
]
