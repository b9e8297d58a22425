"""Python's arenas that are held, and by which code, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from simalloc.report.table import Table

if TYPE_CHECKING:
    from simalloc.advice import HeldArenas

_MOST: Final = 10
"""Rows of each table."""


def arenas_text(held: HeldArenas) -> str:
    """Return in a sentence what holds Python's arenas."""
    sparse = held.sparse
    blocks, data = sum(each.blocks for each in sparse), sum(each.bytes for each in sparse)
    return (
        f"After event {held.event:,}, when most is kept that is not live, Python holds "
        f"{len(held.arenas):,} arenas of {held.arena_bytes >> 10:,} KiB. {len(sparse):,} of them "
        f"are nearly empty: {blocks:,} blocks ({data:,} bytes) keep "
        f"{len(sparse) * held.arena_bytes:,} bytes."
    )


def arenas_table(held: HeldArenas) -> Table:
    """Return the arenas in which the least is live, one a row."""
    rows = [(each.number, each.blocks, each.bytes, each.place) for each in held.arenas[:_MOST]]
    columns = ("arena", "blocks", "bytes", "mostly of")
    return Table("Python's arenas that hold the least", columns, rows)


def arena_code_table(held: HeldArenas) -> Table:
    """Return the code whose blocks hold nearly empty arenas, one a row."""
    columns = ("code", "blocks", "arenas")
    return Table("What holds nearly empty arenas", columns, list(held.places[:_MOST]))
