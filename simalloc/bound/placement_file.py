"""Files of placements: written, or read and verified."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.bound.loading import read_lifetimes
from simalloc.bound.placement import Placement
from simalloc.bound.timetable import Timetable
from simalloc.bound.verify import verify
from simalloc.errors import SimallocError, TraceError
from simalloc.trace.formats.importing import open_log

Ints = NDArray[np.int64]

_LINES: Final = 1 << 16

_COLUMNS: Final = "a placement has the columns id,lower,upper,size,offset"


def read_placement(path: str | os.PathLike[str]) -> Placement:
    """Read a placement from a file in our format or in MiniMalloc's, and verify it.

    Raises `SimallocError` if the file has another format or the placement is invalid. A placement
    is invalid if an object's address is not a multiple of its alignment, or if two objects use the
    same byte at the same time.
    """
    try:
        with open_log(path, from_format="lifetimes") as opened:
            _, table, address = read_lifetimes(opened, "placement")
    except TraceError as error:
        error.hint = _COLUMNS  # an object on a skipped line would remain unverified
        raise
    if address is None:
        raise TraceError("has no column offset", path=path, hint=_COLUMNS)
    try:
        swept = verify(table, address)
    except ValueError as error:
        raise SimallocError(
            f"{path}: {error}. Lives are numbered from 0 in the order of their births"
        ) from None
    return Placement(table, address, swept, how=f"read from {Path(path).name}")


def write_placement(placement: Placement, stream: BinaryIO) -> None:
    """Write a placement as comma-separated values, a line for each allocation under a header.

    The values are a number, the event that allocates (from 0), the event that frees, the bytes, the
    alignment and the gaps, if any, and the address. If an object is never freed, the event that
    frees is the number of events. Two lines overlap if their events overlap and their addresses
    overlap; a valid placement has no overlapping lines. MiniMalloc (Moffitt 2023) stores its
    buffers in this format. With gaps, events are numbered by the begins and ends of pieces.
    """
    table = placement.table
    parts = table if table.pieces is None else table.pieces.table
    lower, upper, gaps = (table.born, table.died, None) if parts is table else _times(table)
    columns = {"id": np.arange(len(table)), "lower": lower, "upper": upper, "size": table.size}
    if table.alignment.max(initial=1) > 1:
        columns["alignment"] = table.alignment
    fields: dict[str, Iterator[str]] = {
        name: map(str, values.tolist()) for name, values in columns.items()
    }
    if gaps is not None:
        fields["gaps"] = iter(gaps)
    fields["offset"] = map(str, placement.address.tolist())
    stream.write(f"{','.join(fields)}\n".encode())
    lines = zip(*fields.values(), strict=True)
    while part := [*islice(lines, _LINES)]:
        stream.write(("\n".join(map(",".join, part)) + "\n").encode())


def _times(table: Timetable) -> tuple[Ints, Ints, list[str]]:
    """Return the begin and the end of each life with gaps, and its gaps, in events of pieces."""
    assert table.pieces is not None
    parts = table.pieces.table
    columns = (table.pieces.owner, parts.born, parts.died, table.pieces.low, parts.size)
    uses: list[list[tuple[int, ...]]] = [[] for _ in range(len(table))]
    for life, *use in zip(*(each.tolist() for each in columns), strict=True):
        uses[life].append(tuple(use))
    lower = np.array([each[0][0] for each in uses], np.int64)
    upper = np.array([each[-1][1] for each in uses], np.int64)
    sizes = table.size.tolist()
    return lower, upper, [" ".join(_gaps(*each)) for each in zip(uses, sizes, strict=True)]


def _gaps(uses: list[tuple[int, ...]], size: int) -> Iterator[str]:
    """Yield the gaps of a life. Each of its pieces is (begin, end, first byte, number of bytes)."""
    end = uses[0][0]
    for begin, ends, low, used in uses:
        if end < begin:
            yield f"{end}-{begin}"
        if used < size:
            yield f"{begin}-{ends}@{low}:{low + used}"
        end = ends
