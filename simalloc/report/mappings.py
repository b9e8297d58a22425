"""Table of the memory that a recorded program mapped itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

from simalloc.plural import counted
from simalloc.report.table import Rounded, Table, Value

_MIB: Final = 1 << 20
_MAX_ROWS: Final = 10
_NOTE: Final = (
    "Sizes in MiB. resident: resident memory when the process's resident memory peaks.\n"
    "last: resident memory at the last sample. mapped: peak of mapped memory."
)


def mappings_table(provenance: Mapping[str, Any]) -> Table | None:
    """Return the places that mapped the most resident memory, or None if none is resident."""
    found: Sequence[Mapping[str, Any]] = provenance.get("mappings") or ()
    resident = [one for one in found if one["resident_bytes"] or one["final_resident_bytes"]]
    if not resident:
        return None
    rows: list[Sequence[Value]] = [_row(one) for one in resident[:_MAX_ROWS]]
    rest = len(found) - len(rows)
    omitted = counted(rest, "place")
    notes = (_NOTE, *([f"Omitted: {omitted} with less or no resident memory."] if rest else []))
    columns = ("mapped by", "file", "calls", "resident", "last", "mapped")
    return Table("Memory that the program mapped itself", columns, rows, notes, width=100)


def _row(one: Mapping[str, Any]) -> Sequence[Value]:
    return (
        one["function"] if not one["function"].startswith(one["file"]) else _offset(one),
        PurePath(one["file"]).name,
        one["calls"],
        Rounded(one["resident_bytes"] / _MIB, 2),
        Rounded(one["final_resident_bytes"] / _MIB, 2),
        Rounded(one["peak_mapped_bytes"] / _MIB, 2),
    )


def _offset(one: Mapping[str, Any]) -> str:
    """Return the name of a place without a function: its offset in the file."""
    return str(one["function"]).removeprefix(one["file"])
