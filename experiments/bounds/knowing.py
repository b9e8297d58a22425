"""Policies that place objects as they come, and know a little of the future.

An object is long-lived if it outlives half of the bytes that are live at the peak: counted in the
bytes allocated from its birth to its death. `KnowsLifetimes` knows that, rightly or with errors;
`knows_deaths` knows when each object dies, at its birth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simalloc import PythonPolicy
from simalloc.bound import Timetable
from simalloc.bound.placer import Fit, Placer
from simalloc.trace.statistics import lives_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simalloc.policy import Block, Heap
    from simalloc.trace import Trace


class KnowsLifetimes(PythonPolicy):
    """Best fit; long-lived objects take the low end of a block, short-lived ones the high end."""

    growth = 16
    wrong = 0
    """In percent: for so many objects the knowledge is the opposite of the truth."""

    def begin(self, trace: Any) -> None:
        """Find out which events allocate what lives long."""
        self._long = long_lived(trace.in_memory(), self.wrong).tolist()

    def malloc(self, heap: Heap, size: int) -> Block:
        """Place by the class of the lifetime."""
        block = heap.best_fit(size) or heap.grow(size, self.growth)
        return (heap.split if self._long[heap.event] else heap.split_high)(block, size)

    def free(self, heap: Heap, block: Block) -> None:
        """Merge with the free neighbours at once."""
        heap.insert(heap.merge(block))


def knows_deaths(trace: Trace) -> int:
    """Return the heap of one who knows each object's death at its birth, and nothing to come.

    It is the placement forward from the first event (simalloc/bound/placer.py): of the eight
    smallest gaps that with the neighbour that dies nearest. Nothing is packed beforehand.
    """
    table = Timetable.of(trace)
    layout = Placer(table).outward(table.live_after(0), 0, [Fit.MATCH], 1 << 62)
    return 0 if layout is None else layout.height


def long_lived(trace: Trace, wrong: int = 0) -> NDArray[np.bool_]:
    """Return for each event whether it allocates what lives long; `wrong` percent are turned."""
    lives = lives_of(trace)
    peak = int(trace.stretch.live.max(initial=0))
    long = lives.lifetime > peak // 2
    turned = np.random.default_rng(1).random(len(long)) * 100 < wrong
    found = np.zeros(len(trace), bool)
    found[lives.born] = long ^ turned
    return found
