"""Pools of fixed-size blocks: the sizes and counts that need the least memory.

The pool with the smallest sufficient blocks serves a request. The heap serves requests that are
larger than the largest block. A pool has as many blocks as are ever live at once; it therefore
never refuses a request and cannot fragment. The sizes are chosen by dynamic programming over the
sizes of the trace. `cost(i, j)`, a pool for the sizes after the i-th up to the j-th, is the j-th
size times the peak number of live objects of these sizes. The heap counts with the peak of its live
bytes times the heap's cost of a live byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace import Op, Trace
from simalloc.trace.lives import lives_of

ALIGNMENT: Final = 4
"""Default alignment of block sizes in bytes."""

_REQUESTS: Final = frozenset({Op.MALLOC, Op.CALLOC, Op.REALLOC})

MAX_SIZES: Final = 256
"""Maximum number of different sizes. Rarer sizes are rounded up to the next kept size."""


@dataclass(frozen=True)
class BlockPool:
    """A pool of `count` blocks of `size` bytes."""

    size: int
    count: int

    @property
    def total(self) -> int:
        """Bytes of all blocks."""
        return self.size * self.count


@dataclass(frozen=True)
class BlockPools:
    """The pools of fixed-size blocks with the lowest total memory, in ascending order of size.

    `rest_bytes` is the peak of the live bytes outside the pools, whose requests are larger than the
    largest block. `rest_largest` is the largest of these requests, or 0.
    """

    pools: tuple[BlockPool, ...]
    rest_bytes: int
    rest_largest: int
    peak_live_bytes: int

    @property
    def pool_bytes(self) -> int:
        """Bytes of all pools."""
        return sum(pool.total for pool in self.pools)

    def rest_of(self, trace: Trace) -> Trace:
        """Return the events of the objects that the heap serves, larger than the largest block.

        A realloc across that size becomes a malloc or a free of the heap.
        """
        kept: list[int] = []
        op = trace.op.copy()
        inside: dict[int, bool] = {}
        for event, (kind, number, size) in enumerate(
            zip(trace.op.tolist(), trace.object.tolist(), trace.size.tolist(), strict=True)
        ):
            before = inside.get(number, False)
            after = kind in _REQUESTS and size > self.largest
            if kind == Op.REALLOC and before != after:
                op[event] = Op.MALLOC if after else Op.FREE
            inside[number] = after
            if before or after:
                kept.append(event)
        columns: dict[str, Any] = {name: values[kept] for name, values in trace.columns.items()}
        return Trace.from_events(
            op[kept], trace.object[kept], trace.size[kept], name=trace.name, **columns
        )

    @property
    def largest(self) -> int:
        """Size of the largest block; 0 without pools."""
        return self.pools[-1].size if self.pools else 0


def block_pools(
    traces: Sequence[Trace], count: int, heap_cost: float = 1.0, alignment: int = ALIGNMENT
) -> BlockPools:
    """Return the sizes and counts of `count` pools with the lowest total of pools and heap.

    `heap_cost` is the number of heap bytes per live byte, including headers and fragmentation.
    Block sizes are multiples of `alignment` bytes. The pools serve each of the traces. A realloc
    frees its block before it allocates another. The result has fewer pools only if the traces have
    fewer sizes.

    Raises
    ------
    ValueError
        If `count` is not from 1 to 64, or `alignment` is not a power of two.
    """
    return BlockPoolChoices.of(traces, alignment).choose(count, heap_cost)


@dataclass(frozen=True, eq=False)
class BlockPoolChoices:
    """Peaks of some traces, from which any number of block pools can be chosen.

    `counts[i, j]` is the peak number of live objects with the i-th to the j-th of the `sizes`.
    `rest[i]` is the peak of the live bytes of all sizes except the first i.
    """

    sizes: NDArray[np.int64]
    counts: NDArray[np.int64]
    rest: NDArray[np.int64]
    peak_live_bytes: int

    @classmethod
    def of(cls, traces: Sequence[Trace], alignment: int = ALIGNMENT) -> BlockPoolChoices:
        """Return the peaks of some traces. Raises `ValueError` if `alignment` is invalid."""
        if alignment < 1 or alignment & (alignment - 1):
            raise ValueError(f"the alignment of blocks is {alignment}; use a power of two")
        lives = [_Lives.of(trace, alignment) for trace in traces]
        sizes = _kept_sizes(np.concatenate([each.size for each in lives]))
        counts = np.zeros((len(sizes), len(sizes)), np.int64)
        rest = np.zeros(len(sizes) + 1, np.int64)
        for each in lives:
            counts = np.maximum(counts, each.peak_counts(sizes))
            rest = np.maximum(rest, each.peak_rests(sizes))
        return cls(sizes, counts, rest, max(each.peak for each in lives))

    def choose(self, count: int, heap_cost: float = 1.0) -> BlockPools:
        """Return the best `count` pools. Raises `ValueError` if `count` is not from 1 to 64."""
        if not 1 <= count <= 64:
            raise ValueError(f"the number of block pools is {count}; use 1 to 64")
        sizes = self.sizes
        weighted = np.rint(self.rest * heap_cost).astype(np.int64)
        chosen = _choose(sizes, self.counts, weighted, min(count, len(sizes)))
        pools = tuple(
            BlockPool(int(sizes[last]), int(self.counts[first, last])) for first, last in chosen
        )
        largest = chosen[-1][1] + 1 if chosen else 0
        return BlockPools(
            pools,
            rest_bytes=int(self.rest[largest]),
            rest_largest=int(sizes[-1]) if largest < len(sizes) else 0,
            peak_live_bytes=self.peak_live_bytes,
        )


@dataclass(frozen=True, eq=False)
class _Lives:
    """The lives of a trace: rounded sizes (int64, bytes), and the events of births and deaths."""

    size: NDArray[np.int64]
    born: NDArray[np.int64]
    died: NDArray[np.int64]
    events: int
    peak: int

    @classmethod
    def of(cls, trace: Trace, alignment: int) -> _Lives:
        lives = lives_of(trace)
        rounded = -(-np.maximum(lives.size, 1) // alignment) * alignment
        return cls(
            rounded, lives.born, lives.died, len(trace), int(trace.replayed.live.max(initial=0))
        )

    def peak_counts(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the peak number of live objects of the i-th to the j-th size, for i <= j."""
        live = self._live_counts(sizes)
        upto = np.zeros((len(sizes) + 1, live.shape[1]), np.int32)
        np.cumsum(live, axis=0, out=upto[1:])
        found = np.zeros((len(sizes), len(sizes)), np.int64)
        for first in range(len(sizes)):
            found[first, first:] = (upto[first + 1 :] - upto[first]).max(axis=1, initial=0)
        return found

    def _live_counts(self, sizes: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the number of live objects of each size at births that are followed by a death.

        Between two of these moments, every number is at most the number at the later moment. The
        peaks are therefore kept.
        """
        change = np.zeros(self.events + 1, np.int8)
        change[self.born] = 1
        change[self.died[self.died < self.events]] -= 1
        happened = np.flatnonzero(change)
        kinds = change[happened]
        last = np.append(kinds[1:] < 0, True)
        moments = happened[(kinds > 0) & last]
        which = np.searchsorted(sizes, self.size)
        change_at = np.zeros((len(sizes), len(moments) + 1), np.int32)
        np.add.at(change_at, (which, np.searchsorted(moments, self.born)), 1)
        np.add.at(change_at, (which, np.searchsorted(moments, self.died)), -1)
        return np.cumsum(change_at[:, :-1], axis=1, dtype=np.int32)

    def peak_rests(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return, for each number of sizes in pools, the peak live bytes of larger objects."""
        which = np.searchsorted(sizes, self.size)
        found = np.zeros(len(sizes) + 1, np.int64)
        for number in range(len(sizes)):
            rest = which >= number
            change = np.zeros(self.events + 1, np.int64)
            np.add.at(change, self.born[rest], self.size[rest])
            np.add.at(change, self.died[rest], -self.size[rest])
            found[number] = np.cumsum(change[:-1]).max(initial=0)
        return found


def _kept_sizes(size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different sizes, or the most frequent ones and the largest."""
    sizes, count = np.unique(size, return_counts=True)
    if len(sizes) <= MAX_SIZES:
        return sizes
    frequent = np.argsort(-count, kind="stable")[: MAX_SIZES - 1]
    return np.unique(np.append(sizes[frequent], sizes[-1]))


def _choose(
    sizes: NDArray[np.int64], counts: NDArray[np.int64], rest: NDArray[np.int64], number: int
) -> list[tuple[int, int]]:
    """Return the first and the last size of each of `number` pools with the lowest total.

    `best[k, j]` is the lowest total of k pools for the first j sizes.
    """
    best = np.full((number + 1, len(sizes) + 1), np.iinfo(np.int64).max // 2)
    best[0, 0] = 0
    before = np.zeros((number + 1, len(sizes) + 1), np.int64)
    cost = counts * sizes
    for pools in range(1, number + 1):
        for held in range(pools, len(sizes) + 1):
            totals = best[pools - 1, :held] + cost[:held, held - 1]
            before[pools, held] = np.argmin(totals)
            best[pools, held] = totals[before[pools, held]]
    held = int(np.argmin(best[number] + rest))
    chosen: list[tuple[int, int]] = []
    for pools in range(number, 0, -1):
        first = int(before[pools, held])
        chosen.append((first, held - 1))
        held = first
    return chosen[::-1]
