"""Prediction of the memory that `malloc_trim` would return to the system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process.glibc.arena import Walk
from simalloc.process.glibc.chunks import BINNED, FAST, TOP
from simalloc.process.glibc.layouts import Parameters
from simalloc.process.mappings import PAGE
from simalloc.process.region import ABSENT, down
from simalloc.process.target import runs_of

_MIN_TRIMMED: Final = PAGE + 47
"""A free chunk of more bytes may contain a page that `malloc_trim` returns."""
_HEADER: Final = 48
"""Bytes at the start of a free chunk that `malloc_trim` does not return."""
_MIN_TOP: Final = 33


@dataclass(frozen=True, eq=False)
class Trim:
    """Memory of one arena that `malloc_trim` would return."""

    returned: dict[int, NDArray[np.bool_]]
    """Mask of the resident pages that would be returned, for each region by its start."""
    break_falls: int
    """Bytes by which the break would fall."""

    @property
    def resident(self) -> int:
        """Resident bytes that would be returned."""
        return PAGE * sum(int(np.count_nonzero(pages)) for pages in self.returned.values())


def predict_trim(walk: Walk, parameters: Parameters, break_end: int | None, pad: int = 0) -> Trim:
    """Return the memory of an arena that `malloc_trim(pad)` would return now.

    `break_end` is the end of the break for a main arena that grows by `sbrk`, otherwise None.
    """
    chosen = {region.start: np.zeros(len(region.pages) + 1, np.int64) for region in walk.regions}
    start, end, top_start = _merged(walk)
    low = -(-(start + _HEADER) // PAGE)
    high = end // PAGE
    large = (end - start > _MIN_TRIMMED) & (low < high)
    for region in walk.regions:
        first = region.start // PAGE
        here = large & (low >= first) & (high <= first + len(region.pages))
        marks = chosen[region.start]
        np.add.at(marks, low[here] - first, 1)
        np.add.at(marks, high[here] - first, -1)
    falls = 0
    top_end = next(piece.end for piece in walk.pieces if piece.holds_top)
    if break_end is not None and top_end == break_end:
        falls = _top_falls(top_end - top_start, parameters.huge_page or PAGE, pad)
        region = next(one for one in walk.regions if one.start < top_end <= one.end)
        chosen[region.start][(top_end - falls - region.start) // PAGE] += 1
        chosen[region.start][(top_end - region.start) // PAGE] -= 1
    returned = {
        region.start: (np.cumsum(chosen[region.start])[:-1] > 0) & (region.pages != ABSENT)
        for region in walk.regions
    }
    return Trim(returned, falls)


def _top_falls(size: int, grain: int, pad: int) -> int:
    """Return the bytes by which the break falls with a top chunk of this size."""
    free = size - _MIN_TOP
    return down(free - pad, grain) if free > pad else 0


def _merged(walk: Walk) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return starts and ends of free memory after merging fast chunks, and the top's start.

    Free memory adjacent to the top chunk is merged into the top chunk.
    """
    free = np.isin(walk.kind, (BINNED, FAST))
    begins = walk.address.astype(np.int64)
    ends = begins + walk.size.astype(np.int64)
    first, last = runs_of(free)
    start, end = begins[first], ends[np.maximum(last - 1, 0)] if len(last) else ends[:0]
    (top,) = np.flatnonzero(walk.kind == TOP)
    top_start = int(begins[top])
    reaches = end == top_start
    if reaches.any():
        top_start = int(start[reaches][0])
    return start[~reaches], end[~reaches], top_start
