"""Table of the bytes of heaps by kind."""

from __future__ import annotations

from collections.abc import Sequence

from simalloc.measure import Waste
from simalloc.measure.waste import FREE_PARTS, PARTS
from simalloc.report.runs import threads_notes
from simalloc.report.table import Rounded, Table, Value
from simalloc.report.units import percent


def waste_table(wastes: Sequence[Waste]) -> Table:
    """Return a table with a row per heap: its bytes by kind, without kinds that no heap has."""
    words = {**PARTS, "resident": "resident", **FREE_PARTS, "largest_free": "largest free"}
    parts = [part for part in words if any(getattr(waste, part) for waste in wastes)]
    options = {name: [getattr(waste, name) for waste in wastes] for name in ("scale", "realloc")}
    differing = [name for name, values in options.items() if len({*values} - {None}) > 1]
    rows: list[tuple[Value, ...]] = [
        (
            waste.name,
            *(getattr(waste, name) for name in differing),
            _bytes(waste.heap),
            percent(waste.heap / waste.live - 1) if waste.live else None,
            *(_bytes(_part(waste, part)) for part in parts),
        )
        for waste in wastes
    ]
    columns = ("policy", *differing, "heap", "excess over live %", *(words[part] for part in parts))
    names = ", ".join(dict.fromkeys(waste.trace for waste in wastes))
    notes = _notes(wastes)
    return Table(f"Where the bytes are; {names}", columns, rows, notes)


def own_statistics_table(waste: Waste) -> Table:
    """Return a table with a row for each line of a malloc's own statistics."""
    rows: list[tuple[Value, ...]] = [
        (line, _bytes(size)) for line, size in waste.own_statistics.items()
    ]
    return Table(f"Allocator statistics; {waste.trace}, {waste.policy}", ("", "bytes"), rows)


def waste_records_table(wastes: Sequence[Waste]) -> Table:
    """Return a table with all parts of each heap, for JSON and CSV."""
    names = {"threads": "replayed_threads", "trace_threads": "threads"}
    columns = (
        "trace",
        "policy",
        "scale",
        "realloc",
        "event",
        *names,
        "heap",
        *PARTS,
        "resident",
        *FREE_PARTS,
        *(["largest_free"] if any(one.largest_free is not None for one in wastes) else []),
    )
    rows = [
        tuple(getattr(waste, names.get(column, column)) for column in columns) for waste in wastes
    ]
    return Table("Where the bytes are", columns, rows)


def _part(waste: Waste, part: str) -> float | None:
    """Return the bytes of a part, or None if a real allocator does not report it."""
    is_known = waste.event is not None or part in {"live", "unknown"}
    return getattr(waste, part) if is_known else None


def _bytes(size: float | None) -> Value:
    return None if size is None else Rounded(size, 0)


def _notes(wastes: Sequence[Waste]) -> list[str]:
    notes = ["simalloc waste --help explains the columns."]
    if any(waste.resident is not None for waste in wastes):
        notes.append(
            "The columns 'free: ...' split the cached and free bytes by the state of their pages."
        )
    if any(waste.event is None for waste in wastes):
        notes.append(
            "Real allocators report only a total. In their rows, live is the peak of live bytes."
        )
        if any("mechanism=on" in waste.policy and "word=8" not in waste.policy for waste in wastes):
            notes.append(
                "Models without word=8 in their name use words of 4 bytes. Real allocators use "
                "words of 8 bytes."
            )
    return [*notes, *threads_notes(wastes)]
