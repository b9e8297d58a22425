"""Tables of a snapshot of a running process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from simalloc.measure.waste import PARTS
from simalloc.plural import counted
from simalloc.process import Part, Snapshot, Statistics, answer
from simalloc.report.table import Table, Value
from simalloc.sizes import spell_bytes

_MAX_ARENAS: Final = 20
_MAX_KEEPERS: Final = 10

_COLUMNS: Final = {
    "bytes": "heap",
    "live": PARTS["live"],
    "headers": PARTS["headers"],
    "tables": PARTS["tables"],
    "cached": PARTS["cached"],
    "bins": PARTS["free_inside"],
    "top": PARTS["free_at_top"],
    "holes": "foreign",
    "resident": "resident",
    "free_resident": "free: resident",
    "free_absent": "free: not resident",
    "trimmable": "trimmable",
}
"""Headings of the figures of an arena, with the terms of `simalloc waste`."""


_WORDS: Final = {
    "bytes": "heap",
    "used": "in use",
    "used_blocks": "blocks in use",
    "free": "free",
    "free_blocks": "free blocks",
    "top": "free at the top",
}


def snapshot_answer(snapshot: Snapshot) -> str:
    """Return a sentence that divides the memory of the process into its kinds."""
    return answer(snapshot, spell_bytes)


def snapshot_tables(snapshot: Snapshot) -> list[Table]:
    """Return the tables of a snapshot: arenas, blocks that keep free memory, and other memory."""
    tables = [_arenas(snapshot)] if snapshot.parts else []
    if any(keeper.kept for keeper in snapshot.keepers):
        tables.append(_keepers(snapshot))
    if snapshot.content:
        tables.append(_content(snapshot))
    if snapshot.foreign:
        tables.append(_foreign(snapshot))
    if snapshot.others:
        tables.append(_others(snapshot))
    return tables


def snapshot_record(snapshot: Snapshot) -> dict[str, Any]:
    """Return a snapshot without its blocks, for JSON."""
    return {
        "answer": snapshot_answer(snapshot),
        "name": snapshot.name,
        "command": snapshot.command,
        "process": snapshot.process,
        "threads": snapshot.threads,
        "resident_bytes": snapshot.resident,
        "arenas": [asdict(part) for part in snapshot.parts],
        "total": _total(snapshot.parts),
        "blocks": {
            name: snapshot.count(name)
            for name in ("live", "tcache", "fastbin", "bin", "top", "mmapped", "own")
        },
        "keepers": [asdict(keeper) for keeper in snapshot.keepers[:_MAX_KEEPERS]],
        "content": [asdict(one) for one in snapshot.content],
        "foreign": [asdict(one) for one in snapshot.foreign],
        "others": [asdict(other) for other in snapshot.others],
        "mallinfo": dict(snapshot.mallinfo),
        "pauses": asdict(snapshot.pauses),
        "seconds": snapshot.seconds,
        "problems": list(snapshot.problems),
    }


def _total(parts: Sequence[Part]) -> dict[str, Any]:
    """Return the sums of all figures in bytes or numbers of blocks."""
    names = [
        name for name in Part.__dataclass_fields__ if name not in {"name", "problem", "threads"}
    ]
    return {name: sum(getattr(part, name) or 0 for part in parts) for name in names}


def statistics_answer(statistics: Statistics) -> str:
    """Return a sentence that divides the memory of an allocator into its kinds."""
    kinds = sorted((pair for pair in statistics.named if pair[1]), key=lambda pair: -pair[1])
    said = [f"{spell_bytes(size)} {what}" for what, size in kinds]
    return f"{spell_bytes(statistics.system)} from the system: {', '.join(said)}."


def statistics_tables(statistics: Statistics) -> list[Table]:
    """Return the tables of an allocator's statistics: its arenas and its size classes."""
    tables = []
    title = f"{statistics.allocator}, {statistics.source}"
    if statistics.arenas:
        names = ["bytes", "used", "free"]
        names += ["top"] if statistics.arenas[0].top is not None else []
        largest = sorted(statistics.arenas, key=lambda arena: -arena.bytes)[:_MAX_ARENAS]
        tables.append(
            Table(
                f"Arenas; {title}",
                ("arena", *(_WORDS[name] for name in names)),
                [(one.name, *(getattr(one, name) for name in names)) for one in largest],
                statistics.notes,
            )
        )
    if statistics.classes:
        names = ["used_blocks", "used", "free_blocks", "free"]
        names = [x for x in names if any(getattr(one, x) is not None for one in statistics.classes)]
        tables.append(
            Table(
                f"Size classes; {title}",
                ("size", *(_WORDS[name] for name in names)),
                [
                    (one.size, *(getattr(one, name) for name in names))
                    for one in statistics.classes[:_MAX_ARENAS]
                ],
                () if statistics.arenas else statistics.notes,
            )
        )
    return tables


def statistics_record(statistics: Statistics) -> dict[str, Any]:
    """Return an allocator's statistics, for JSON."""
    return {"answer": statistics_answer(statistics), **asdict(statistics)}


def _figure(part: Part, name: str) -> int | None:
    if name == "cached":
        return part.tcache + part.fastbin
    value: int | None = getattr(part, name)
    return value


def _arenas(snapshot: Snapshot) -> Table:
    parts = snapshot.parts
    names = [name for name in _COLUMNS if any(_figure(part, name) for part in parts)]
    largest = sorted(parts, key=lambda part: -part.bytes)[:_MAX_ARENAS]
    shown = [part for part in parts if part in largest and part.bytes]
    rows: list[tuple[Value, ...]] = [
        (part.name, *(_figure(part, name) for name in names)) for part in shown
    ]
    left = [part for part in parts if part not in largest and part.bytes]
    if left:
        rows.append((f"{len(left)} smaller", *(_sum(left, name) for name in names)))
    rows.append(("total", *(_sum(parts, name) for name in names)))
    columns = ("arena", *(_COLUMNS[name] for name in names))
    return Table(f"Where the bytes are; {snapshot.name}, {snapshot.command}", columns, rows,
                 _notes(snapshot))  # fmt: skip


def _sum(parts: Sequence[Part], name: str) -> int:
    return sum(_figure(part, name) or 0 for part in parts)


def _notes(snapshot: Snapshot) -> list[str]:
    notes = ["Bytes. Live: usable bytes of live blocks. Mapped: blocks with their own mapping."]
    if snapshot.resident is not None:
        notes.append(
            "Trimmable: resident bytes that malloc_trim(0) would return to the system now."
        )
    else:
        notes.append("A core file does not record which pages were resident.")
    pauses = snapshot.pauses
    if pauses.stops:
        notes.append(
            f"The process was stopped {counted(pauses.stops, 'time')}, for "
            f"{1e3 * pauses.longest:,.0f} ms at most and {1e3 * pauses.total:,.0f} ms in total."
        )
    elif snapshot.process is not None:
        notes.append("The process was never stopped.")
    return notes


def _keepers(snapshot: Snapshot) -> Table:
    rows: list[tuple[Value, ...]] = [
        (keeper.usable, keeper.blocks, keeper.kept) for keeper in snapshot.keepers[:_MAX_KEEPERS]
    ]
    return Table(
        "Live blocks that keep free memory resident, by size",
        ("size", "blocks", "free bytes kept"),
        rows,
        ["Free bytes of a page are divided among its blocks in proportion to their bytes there."],
    )


def _content(snapshot: Snapshot) -> Table:
    rows: list[tuple[Value, ...]] = [
        (one.usable, one.blocks, one.bytes, one.first_word)
        for one in snapshot.content[:_MAX_KEEPERS]
    ]
    return Table(
        "Blocks with the most live bytes, by size and by the first word of the block",
        ("size", "blocks", "bytes", "first word"),
        rows,
        ["--no-content omits this table."],
    )


def _foreign(snapshot: Snapshot) -> Table:
    rows: list[tuple[Value, ...]] = [
        (one.allocator, one.bytes, one.resident, one.used, one.blocks, one.free)
        for one in snapshot.foreign
    ]
    return Table(
        "Heaps of other allocators",
        ("allocator", "heap", "resident", "in use", "blocks", "free"),
        rows,
        [f"{one.allocator}: {one.note}." for one in snapshot.foreign],
    )


def _others(snapshot: Snapshot) -> Table:
    known = snapshot.resident is not None
    rows: list[tuple[Value, ...]] = [
        (other.name, other.bytes, *((other.resident,) if known else ()))
        for other in snapshot.others
    ]
    columns = ("memory outside of malloc", "bytes", *(("resident",) if known else ()))
    return Table("The rest of the process", columns, rows)
