"""A placement as a file that anyone can check."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np

if TYPE_CHECKING:
    from simalloc.bound.placement import Placement

_LINES: Final = 1 << 16


def write_placement(placement: Placement, stream: BinaryIO) -> None:
    """Write a line for each allocation, as comma-separated values under a line of names.

    They are the event that allocates (from 0), the one that frees (the number of events if none
    does), the address and the bytes from there on. Two lines overlap if both their events and their
    addresses do; a placement has no two such lines.
    """
    table = placement.table
    stream.write(b"born,died,address,bytes\n")
    rows = np.stack((table.born, table.died, placement.address, table.size), axis=1)
    for start in range(0, len(rows), _LINES):
        lines = (",".join(map(str, row)) for row in rows[start : start + _LINES].tolist())
        stream.write(("\n".join(lines) + "\n").encode())
