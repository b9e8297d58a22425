"""The bytes of an arena by state and by page, and the blocks that keep free memory resident."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simalloc.process.glibc.arena import Walk
from simalloc.process.glibc.chunks import BINNED, FAST, OWN, STATE_NAMES, TOP
from simalloc.process.glibc.trim import Trim
from simalloc.process.mappings import PAGE
from simalloc.process.region import ABSENT, Region


@dataclass(frozen=True)
class Amount:
    """Number of blocks, their bytes, and their bytes in resident pages."""

    blocks: int
    bytes: int
    resident: int


def amounts(walk: Walk) -> dict[str, Amount]:
    """Return the amounts of an arena in each state, by the state's name."""
    resident = resident_bytes(walk)
    found = {}
    for number, name in enumerate(STATE_NAMES):
        mine = walk.kind == number
        found[name] = Amount(
            int(np.count_nonzero(mine)), int(walk.size[mine].sum()), int(resident[mine].sum())
        )
    return found


def resident_bytes(walk: Walk) -> NDArray[np.int64]:
    """Return the resident bytes of each chunk."""
    resident = np.zeros(len(walk.address), np.int64)
    for region in walk.regions:
        here = _in_region(walk, region)
        start = walk.address[here]
        resident[here] = region.resident(start, start + walk.size[here])
    return resident


def _in_region(walk: Walk, region: Region) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (walk.address >= region.start) & (walk.address < region.end)
    return found


@dataclass(frozen=True, eq=False)
class Pins:
    """Free memory that stays resident, and the blocks that cause this."""

    size: NDArray[np.uint64]
    """Chunk sizes of the blocks, in descending order of kept bytes."""
    blocks: NDArray[np.int64]
    """Number of blocks of each size that share a page with free memory that stays resident."""
    kept: NDArray[np.float64]
    """Free bytes in the pages of the blocks. The blocks of a page share its free bytes in
    proportion to their own bytes in it.
    """
    kept_bytes: int
    """Free resident bytes that `malloc_trim` would not return."""
    kept_blocks: int


def pins(walk: Walk, trim: Trim) -> Pins:
    """Return the blocks in use that keep free memory resident."""
    free = np.isin(walk.kind, (BINNED, FAST))
    used = ~free & ~np.isin(walk.kind, (TOP, OWN))
    sizes, weights, kept_bytes = [], [], 0
    for region in walk.regions:
        here = _in_region(walk, region)
        stays = (region.pages != ABSENT) & ~trim.returned[region.start]
        free_bytes = _per_page(walk, region, here & free) * stays
        used_bytes = _per_page(walk, region, here & used)
        kept_bytes += int(free_bytes.sum())
        share = np.divide(free_bytes, used_bytes, out=np.zeros(len(stays)), where=used_bytes > 0)
        mine = here & used
        weight = _weighted(walk, region, mine, share)
        sizes.append(walk.size[mine][weight > 0])
        weights.append(weight[weight > 0])
    size, weight = np.concatenate(sizes), np.concatenate(weights)
    each, place = np.unique(size, return_inverse=True)
    blocks = np.bincount(place, minlength=len(each))
    kept = np.bincount(place, weight, minlength=len(each)).astype(np.float64)
    order = np.argsort(-kept, kind="stable")
    return Pins(each[order], blocks[order], kept[order], kept_bytes, len(size))


def _ends(
    walk: Walk, region: Region, which: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the starts and ends of chunks in a region."""
    start = (walk.address[which] - np.uint64(region.start)).astype(np.int64)
    end = np.minimum(start + walk.size[which].astype(np.int64), len(region.data))
    return start, end


def _per_page(walk: Walk, region: Region, which: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the bytes of chunks in each page."""
    count = len(region.pages)
    start, end = _ends(walk, region, which)
    # A chunk contributes to the bytes before each page's end that follows its start. A second term
    # cancels the contribution beyond the chunk's end.
    begun = np.bincount(start // PAGE, PAGE - start % PAGE, minlength=count + 1)
    over = np.bincount(end // PAGE, PAGE - end % PAGE, minlength=count + 1)
    full = np.bincount(start // PAGE + 1, minlength=count + 2)[: count + 1]
    over_full = np.bincount(end // PAGE + 1, minlength=count + 2)[: count + 1]
    found: NDArray[np.int64] = (begun - over + PAGE * np.cumsum(full - over_full)).astype(np.int64)
    return found[:count]


def _weighted(
    walk: Walk, region: Region, which: NDArray[np.bool_], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for each chunk the sum over its pages of its bytes times the page's share."""
    start, end = _ends(walk, region, which)
    before = np.concatenate(([0.0], np.cumsum(share))) * PAGE
    padded = np.append(share, 0.0)

    def up_to(place: NDArray[np.int64]) -> NDArray[np.float64]:
        return before[place // PAGE] + padded[place // PAGE] * (place % PAGE)

    found: NDArray[np.float64] = up_to(end) - up_to(start)
    return found
