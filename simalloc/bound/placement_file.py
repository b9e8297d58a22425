"""Placements in files: written, or read as somebody made them and then verified."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final

import numpy as np

from simalloc.bound.placement import Placement
from simalloc.bound.timetable import Timetable
from simalloc.bound.verify import verify
from simalloc.errors import SimallocError, TraceError
from simalloc.trace import read_trace
from simalloc.trace.formats.importing import import_log

_LINES: Final = 1 << 16

_COLUMNS: Final = "a placement has the columns id,lower,upper,size,offset"
_LOWER: Final = 1
_OFFSET: Final = 4


def read_placement(path: str | os.PathLike[str]) -> Placement:
    """Read such a file, ours or MiniMalloc's, and verify it.

    Raises `SimallocError` if it is no such file, or if two of its objects overlap.
    """
    with TemporaryDirectory() as folder:
        try:
            import_log(path, Path(folder, "trace.npz"), from_format="lifetimes")
        except TraceError as error:
            error.hint = _COLUMNS  # a line that is skipped would be an object that is not verified
            raise
        trace = read_trace(Path(folder, "trace.npz"))
    try:
        columns = _LOWER, _OFFSET
        lower, offset = np.loadtxt(
            path, np.int64, delimiter=",", comments=None, skiprows=1, usecols=columns, ndmin=2
        ).T
    except ValueError as error:
        raise TraceError(str(error), path=path, hint=_COLUMNS) from None
    table = Timetable.of(trace)
    address = offset[np.argsort(lower, kind="stable")]
    try:
        swept = verify(table, address)
    except ValueError as error:
        raise SimallocError(f"{path}: {error}, in the order of births") from None
    return Placement(table, address, swept, how=f"read from {Path(path).name}")


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
