"""A placement as a file that anyone can check: MiniMalloc's table of buffers, with offsets."""

from __future__ import annotations

from typing import BinaryIO, Final

import numpy as np

from simalloc.bound.placement import Placement

_LINES: Final = 1 << 16


def write_placement(placement: Placement, stream: BinaryIO) -> None:
    """Write a line for each allocation, as comma-separated values under a line of names.

    They are a number, the event that allocates (from 0), the one that frees (the number of events
    if none does), the bytes and the address. Two lines overlap if both their events and their
    addresses do; a placement has no two such lines. MiniMalloc (Moffitt 2023) has its buffers so.
    """
    table = placement.table
    stream.write(b"id,lower,upper,size,offset\n")
    number = np.arange(len(table))
    rows = np.stack((number, table.born, table.died, table.size, placement.address), axis=1)
    for start in range(0, len(rows), _LINES):
        lines = (",".join(map(str, row)) for row in rows[start : start + _LINES].tolist())
        stream.write(("\n".join(lines) + "\n").encode())
