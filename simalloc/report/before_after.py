"""Comparison of two traces, as tables and as records for other programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from simalloc.report.table import Rounded, Table, Value

if TYPE_CHECKING:
    from simalloc.advice.before_after import BeforeAfter, Change

_COLUMNS: Final = ("before", "after", "change", "change %")

_WHOLE: Final = 1000
"""Figures of at least this size are shown without decimals."""


def before_after_tables(found: BeforeAfter, most: int = 20) -> list[Table]:
    """Return a table of both traces, and a table of the `most` functions that changed most."""
    before, after = found.policies
    under = f"under {before}" if before == after else f"under {before} and {after}"
    figures = Table(
        f"{found.before} and {found.after}, {under}",
        ("", *_COLUMNS),
        [(each.name, *_values(each)) for each in found.figures if _known(each)],
        ("Resident and mapped bytes are predicted, including headers and tables.",),
    )
    if not found.sites:
        return [figures]
    rows: list[Sequence[Value]] = [
        (
            function,
            *_values(live),
            *(_whole(value) for value in (final.before, final.after)),
            *(_whole(value) for value in (often.before, often.after)),
        )
        for function, (live, final, often) in found.sites[:most]
    ]
    left = len(found.sites) - len(rows)
    columns = (
        *("function", "live before", "live after", "change", "change %"),
        *("end before", "end after", "allocations before", "allocations after"),
    )
    notes = (f"{left:,} more functions changed. Use --rows to show them.",) if left else ()
    return [figures, Table("Which code", columns, rows, notes)]


def before_after_record(found: BeforeAfter) -> dict[str, Any]:
    """Return the comparison as plain values, ready for JSON."""
    return {
        "before": found.before,
        "after": found.after,
        "policies": list(found.policies),
        "figures": [
            {"name": each.name, "before": _plain(each.before), "after": _plain(each.after)}
            for each in found.figures
        ],
        "sites": None
        if found.sites is None
        else [
            {
                "function": function,
                **{
                    f"{each.name}_{side}": getattr(each, side)
                    for each in changes
                    for side in ("before", "after")
                },
            }
            for function, changes in found.sites
        ],
    }


def before_after_values_table(found: BeforeAfter) -> Table:
    """Return a table for CSV, with a row for each figure of the traces and of each function."""
    rows: list[Sequence[Value]] = [
        ("", each.name, _plain(each.before), _plain(each.after)) for each in found.figures
    ]
    rows += [
        (function, each.name, _plain(each.before), _plain(each.after))
        for function, changes in found.sites or ()
        for each in changes
    ]
    return Table("Before and after", ("function", "name", "before", "after"), rows)


def _known(change: Change) -> bool:
    return change.before is not None or change.after is not None


def _values(change: Change) -> tuple[Value, ...]:
    percent = (
        Rounded(100 * (change.after / change.before - 1), 1, signed=True)
        if change.before and change.after is not None and math.isfinite(change.before)
        else None
    )
    return (_whole(change.before), _whole(change.after), _whole(change.change), percent)


def _whole(value: float | None) -> Value:
    value = _plain(value)
    return int(value) if value is not None and abs(value) >= _WHOLE else value


def _plain(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
