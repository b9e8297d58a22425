"""Writes the blocks of a snapshot as CSV."""

from __future__ import annotations

from typing import Final, TextIO

from simalloc.process.glibc.chunks import STATE_NAMES
from simalloc.process.snapshot import NO_ARENA, Snapshot

_ROWS: Final = 1 << 16


def write_blocks(snapshot: Snapshot, stream: TextIO) -> None:
    """Write one line per block: hexadecimal address, usable bytes, state, and arena if any."""
    stream.write("address,size,state,arena\n")
    blocks = snapshot.blocks
    for at in range(0, len(blocks), _ROWS):
        part = slice(at, at + _ROWS)
        columns = (blocks.address, blocks.usable, blocks.state, blocks.arena)
        rows = zip(*(column[part].tolist() for column in columns), strict=True)
        stream.writelines(
            f"{address:#x},{size},{STATE_NAMES[state]},{'' if arena == NO_ARENA else arena}\n"
            for address, size, state, arena in rows
        )
