"""Bytes of pages with live objects, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simalloc.heap import Run
from simalloc.policy import spell
from simalloc.policy.parts import format_size
from simalloc.report.runs import threads_notes
from simalloc.report.table import Table


def pages_table(runs: Sequence[Run]) -> Table:
    """Return a row a run and size of pages: the bytes of pages with at least one live byte."""
    columns = ("trace", "policy", "page", "peak", "mean", "final", "peak %", "peak live")
    rows = [
        (
            run.trace,
            spell(run.policy),
            format_size(size),
            occupied.peak_bytes,
            occupied.mean_bytes,
            occupied.final_bytes,
            100 * (occupied.peak_bytes / run.max_live_bytes - 1) if run.max_live_bytes else None,
            run.max_live_bytes,
        )
        for run in runs
        for size, occupied in run.occupied.items()
    ]
    notes = (
        "Bytes of the pages in which at least one byte is live: what would be resident if",
        "every other page were given back at once. peak % is peak / peak live - 1.",
        *threads_notes(runs),
    )
    return Table("Occupied pages", columns, rows, notes)


def pages_records_table(runs: Sequence[Run]) -> Table:
    """Return the same with how many threads were replayed, and are, for JSON and CSV."""
    table = pages_table(runs)
    threads = [(run.replayed_threads, run.threads) for run in runs for _ in run.occupied]
    rows = [(*row, *both) for row, both in zip(table.rows, threads, strict=True)]
    return replace(table, columns=(*table.columns, "threads", "trace_threads"), rows=rows)
