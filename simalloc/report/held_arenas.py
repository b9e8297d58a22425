"""Tables of Python's nearly empty arenas and the code that pins them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from simalloc.report.table import Table

if TYPE_CHECKING:
    from simalloc.advice import HeldArenas

_MAX_ROWS: Final = 10
"""Maximum number of rows in a table."""


def arenas_text(held: HeldArenas) -> str:
    """Return a sentence on the blocks that pin Python's arenas."""
    sparse = held.sparse
    blocks, data = sum(each.blocks for each in sparse), sum(each.bytes for each in sparse)
    return (
        f"Python's unused memory (mapped but not live) peaks after event {held.event:,}. Python "
        f"then has {len(held.arenas):,} arenas of {held.arena_bytes >> 10:,} KiB. {len(sparse):,} "
        f"of them are nearly empty (at most a tenth in use). In the nearly empty arenas, "
        f"{blocks:,} blocks ({data:,} bytes) pin {len(sparse) * held.arena_bytes:,} bytes."
    )


def arenas_table(held: HeldArenas) -> Table:
    """Return a table of the arenas with the fewest live bytes."""
    rows = [(each.number, each.blocks, each.bytes, each.place) for each in held.arenas[:_MAX_ROWS]]
    columns = ("arena", "blocks", "bytes", "mostly allocated by")
    return Table("Python's emptiest arenas", columns, rows)


def arena_code_table(held: HeldArenas) -> Table:
    """Return a table of the code whose blocks pin nearly empty arenas."""
    columns = ("code", "blocks", "arenas")
    return Table("Code that pins nearly empty arenas", columns, list(held.places[:_MAX_ROWS]))
