"""Table of the bytes in pages with live objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simalloc.heap import Footprint, Run
from simalloc.heap.quantity import Quantity, footprint
from simalloc.policy import spell
from simalloc.report.runs import threads_notes
from simalloc.report.table import Table
from simalloc.sizes import format_size


def pages_table(runs: Sequence[Run], of: Quantity | None = None) -> Table:
    """Return a table with a row per run and page size: the bytes of all pages with a live byte.

    If `of` is a quantity, each run has another row with its mapped or resident bytes.
    """
    columns = ("trace", "policy", "page", "peak", "mean", "final", "peak %", "peak live")
    rows = [
        (
            run.trace,
            spell(run.policy),
            page,
            held.peak_bytes,
            held.mean_bytes,
            held.final_bytes,
            100 * (held.peak_bytes / run.max_live_bytes - 1) if run.max_live_bytes else None,
            run.max_live_bytes,
        )
        for run in runs
        for page, held in _rows(run, of)
    ]
    notes = (
        "Bytes of the pages with at least one live byte. They stay resident even if all pages",
        "without a live byte are returned immediately. peak % is peak / peak live - 1.",
        *threads_notes(runs),
    )
    return Table("Occupied pages", columns, rows, notes)


def _rows(run: Run, of: Quantity | None) -> list[tuple[str, Footprint]]:
    """Return the name and the bytes of each row of a run."""
    rows = [(format_size(size), occupied) for size, occupied in run.occupied.items()]
    return rows if of is None else [*rows, (of, footprint(run, of))]


def pages_records_table(runs: Sequence[Run], of: Quantity | None = None) -> Table:
    """Return the table of `pages_table` with the numbers of threads, for JSON and CSV."""
    table = pages_table(runs, of)
    threads = [(run.replayed_threads, run.threads) for run in runs for _ in _rows(run, of)]
    rows = [(*row, *both) for row, both in zip(table.rows, threads, strict=True)]
    return replace(table, columns=(*table.columns, "threads", "trace_threads"), rows=rows)
