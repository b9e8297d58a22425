"""Orders for placing buffers with equal lower bounds: a new order for each restart.

The duration of one search depends on the order by factors of thousands, and no order is fast for
all problems. Searches are therefore short, and each restart uses another order. Orders by failures
prefer buffers in sections that refuted earlier searches.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from simalloc.bound.exact.buffers import Buffers, Numbers

CYCLE: Final = ("load width area", "failures width area", "load area width", "failures width area")
"""Keys of the orders, which are used in turn. Buffers are sorted by decreasing key."""

DECAY: Final = 0.9
"""Factor by which the weight of earlier failures is multiplied at each restart."""

LEVELS: Final = 20
"""Number of levels to which failures are rounded, relative to their maximum."""

SWAPPED: Final = 6
"""From the second cycle on, one in `SWAPPED` buffers is swapped with a nearby buffer."""


class Ranks:
    """A generator of ranks of buffers that uses the failures of earlier searches."""

    def __init__(self, buffers: Buffers) -> None:
        width = np.zeros(len(buffers), np.int64)
        np.add.at(width, buffers.owner, buffers.end - buffers.begin)
        self._buffers = buffers
        self._failures = np.zeros(buffers.sections.count)
        self._keys = {
            "load": _highest(buffers, _loads(buffers)),
            "width": width,
            "area": width.astype(np.float64) * buffers.size,
        }
        self._given = 0

    def next(self) -> Numbers:
        """Return the ranks (uint32) for the next search."""
        peak = self._failures.max(initial=0.0)
        failed = self._failures if peak > 0 else _loads(self._buffers)
        level = np.floor(LEVELS * (failed / max(failed.max(initial=0.0), 1.0)))
        keys = {**self._keys, "failures": _highest(self._buffers, level)}
        names = CYCLE[self._given % len(CYCLE)].split()
        order = np.lexsort([-keys[name] for name in reversed(names)])
        if self._given >= len(CYCLE):
            _shuffle(order, np.random.default_rng(self._given))
        self._given += 1
        rank = np.empty(len(order), np.uint32)
        rank[order] = np.arange(len(order), dtype=np.uint32)
        return rank

    def learn(self, failures: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        """Add the number of cases that each section refuted."""
        self._failures = DECAY * (self._failures + failures)


def _loads(buffers: Buffers) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the live bytes of each section."""
    sections = buffers.sections
    change = np.zeros(sections.count + 1)
    used = buffers.high - buffers.low
    np.add.at(change, sections.piece_first, used)
    np.subtract.at(change, sections.piece_last, used)
    return np.cumsum(change[:-1])


def _highest(
    buffers: Buffers, by_section: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the highest value among the sections of each buffer, including its gaps."""
    bounds = np.stack((buffers.sections.first, buffers.sections.last), axis=1).ravel()
    padded = np.append(by_section, -np.inf)
    found: np.ndarray[tuple[int], np.dtype[np.float64]]
    found = np.maximum.reduceat(padded, bounds)[::2] if len(bounds) else np.empty(0)
    return found


def _shuffle(order: np.ndarray[tuple[int], np.dtype[np.int64]], rng: np.random.Generator) -> None:
    """Swap some buffers with one of the next three."""
    chosen = np.flatnonzero(rng.integers(SWAPPED, size=len(order)) == 0)
    others = np.minimum(chosen + rng.integers(1, 4, size=len(chosen)), len(order) - 1)
    for one, other in zip(chosen.tolist(), others.tolist(), strict=True):
        order[one], order[other] = order[other], order[one]
