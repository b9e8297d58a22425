"""Records and tables of the runs in a file of results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from simalloc.heap.fragmentation import MEASURES
from simalloc.heap.quantity import COLUMNS, NAMES, bytes_of_fragmentation
from simalloc.policy import base_name
from simalloc.report import Table
from simalloc.report.runs import LARGEST_FREE_NOTES, MEASURES_NOTES
from simalloc.sweep.measures import Measure, distinct

if TYPE_CHECKING:
    from simalloc.sweep.results import Row

_FIRST: Final = ("trace", "trace_sha256", "policy", "parameters", "scale", "realloc", "code")
_LAST: Final = ("finished", "host", "error")
_SETTING: Final = ("scale", "realloc", "code")


def varying(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> list[str]:
    """Return the `names` whose values differ between rows."""
    return [name for name in names if _distinguishes(rows, name)]


def provenance(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> str:
    """Return a sentence with the values of `names` that all rows share, or "" if none is shared."""
    shared = [f"{name} {rows[0][name]}" for name in names if len({row[name] for row in rows}) == 1]
    return f"Everywhere: {', '.join(shared)}." if shared else ""


def _distinguishes(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Return whether a column distinguishes rows.

    Each family has its own version of the code, which distinguishes only rows of the same policy.
    """
    if name != "code":
        return len({row[name] for row in rows}) > 1
    versions = {(base_name(row["policy"]), row["code"]) for row in rows}
    return len(versions) > len({policy for policy, _ in versions})


def records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return all data of every run: its key, its figures, and its error."""
    apart = {*_FIRST, *_LAST, "id"}
    figures = distinct(name for row in rows for name in row if name not in apart)
    return [{name: row.get(name) for name in (*_FIRST, *figures, *_LAST)} for row in rows]


def records_table(rows: Sequence[Row]) -> Table:
    """Return the records as a table, with parameters in JSON."""
    all_records = records(rows)
    columns = tuple(all_records[0]) if all_records else (*_FIRST, *_LAST)
    cells = [
        [json.dumps(value) if isinstance(value, dict) else value for value in record.values()]
        for record in all_records
    ]
    return Table("Results", columns, cells)


def runs_table(rows: Sequence[Row], of: str = "mapped") -> Table:
    """Return a table with a row per run: the four measures in percent and bytes, or its error.

    The measures apply to the mapped or resident bytes. For the largest free block, the table has
    its minimum, mean and final size instead.
    """
    held = bytes_of_fragmentation(of)
    apart = varying(rows, _SETTING)
    errors = ["error"] if any(row["error"] is not None for row in rows) else []
    refused = ["refused"] if any(row.get("refused") for row in rows) else []
    rows = sorted(rows, key=lambda row: (bool(row.get("stopped")), bool(row.get("refused"))))
    measures = _largest_free() if of == "largest-free" else _fragmentation(held)
    if rows and not any(measure.column in row for row in rows for measure in measures.values()):
        next(iter(measures.values())).value(rows[0])
    last = {NAMES[held]: COLUMNS[held], "peak live": "max_live_bytes"}
    last |= {name: name for name in (*refused, *errors)}
    cells = [
        (
            *(row[name] for name in ("trace", "policy", *apart)),
            *(measure.shown(measure.value(row)) if measure.column in row else None
              for measure in measures.values()),
            *(row.get(name) for name in last.values()),
        )
        for row in rows
    ]  # fmt: skip
    columns = ("trace", "policy", *apart, *measures, *last)
    meaning = LARGEST_FREE_NOTES if of == "largest-free" else MEASURES_NOTES
    return Table("Results", columns, cells, (*meaning, *_notes(rows)))


def _fragmentation(held: str) -> dict[str, Measure]:
    return {f"#{number} %": Measure.of(number, held) for number in MEASURES}


def _largest_free() -> dict[str, Measure]:
    names = [f"{which} largest free" for which in ("min", "mean", "final")]
    return {name: Measure.of(f"{name.replace(' ', '_')}_bytes") for name in names}


def failures_table(rows: Sequence[Row]) -> Table:
    """Return a table of the failed runs with their errors."""
    columns = ("trace", "policy", "error", "finished", "host")
    return Table("Failed runs", columns, [[row[name] for name in columns] for row in rows])


def _notes(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return notes on the provenance that all rows share, and on runs that a refusal ended."""
    shared = provenance(rows, _SETTING)
    stopped = [
        (
            f"A refused request ended the run of {row['trace']} under {row['policy']} at "
            f"event {row['first_refused_event']:,}. The figures cover the events before it."
        )
        for row in rows
        if row.get("stopped")
    ]
    return (*([shared] if shared else []), *stopped)
