"""Online policies with partial knowledge or predictions of the future.

An object is long-lived if it outlives half of the peak live bytes, counted in the bytes allocated
from its birth to its death. `knowing` makes a policy that receives this flag for each object: the
truth, the truth with errors, or a prediction learned from similar objects. `knows_deaths` receives
the time of each object's death at its birth.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simalloc import UserPolicy
from simalloc.bound import Timetable
from simalloc.bound.placer import Fit, Placer
from simalloc.policy import Block, Heap
from simalloc.trace import Trace
from simalloc.trace.statistics import lives_of

Flags = NDArray[np.bool_]
Keys = NDArray[np.int64]


def knowing(long: Flags) -> type[UserPolicy]:
    """Return a best fit that puts long-lived objects at the low end of a block, others high.

    `long` has one entry per event: true if the allocated object is long-lived.
    """
    lives_long = long.tolist()

    class Knowing(UserPolicy):
        """Best fit that receives a flag for each object: long-lived or not."""

        growth = 16

        def malloc(self, heap: Heap, size: int) -> Block | None:
            """Place a long-lived object at the low end of the block, others at the high end."""
            block = heap.best_fit(size) or heap.grow(size, self.growth)
            return (heap.split if lives_long[heap.event] else heap.split_high)(block, size)

        def free(self, heap: Heap, block: Block) -> None:
            """Merge the block with its free neighbours at once."""
            heap.insert(heap.merge(block))

    return Knowing


def long_lived(trace: Trace, wrong: int = 0) -> Flags:
    """Return, for each event, whether it allocates a long-lived object; invert `wrong` percent."""
    lives = lives_of(trace)
    long = lives.lifetime > _threshold(trace)
    turned = np.random.default_rng(1).random(len(long)) * 100 < wrong
    found = np.zeros(len(trace), bool)
    found[lives.born] = long ^ turned
    return found


def guessed(keys: Keys, lessons: Lessons) -> Flags:
    """Return, for each event, whether its object is predicted to be long-lived.

    `keys` (int64) has one entry per event: a common property of objects, such as the size. An
    object whose key was not learned is predicted to be short-lived.
    """
    known, long = lessons
    if not len(known):
        return np.zeros(len(keys), bool)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: Flags = long[place] & (known[place] == keys)
    return found


Lessons = tuple["Keys", "Flags"]
"""Learned keys in ascending order, and whether most objects of each key are long-lived."""


def learned(examples: Iterable[tuple[Keys, Flags]]) -> Lessons:
    """Return the keys and flags learned from the objects' keys and lifetime flags."""
    columns = [*examples]
    keys = np.concatenate([keys for keys, _ in columns])
    long = np.concatenate([long for _, long in columns])
    known, place = np.unique(keys, return_inverse=True)
    most = 2 * np.bincount(place, weights=long) > np.bincount(place)
    return known, most


def examples(trace: Trace, keys: Keys, until: int | None = None) -> tuple[Keys, Flags]:
    """Return the key and the flag of each object, as known after some events.

    After `until` events (None: all events), the flag of a live object that is not yet old enough is
    unknown; such an object is omitted.
    """
    until = len(trace) if until is None else until
    seen = trace.prefix(until)
    lives = lives_of(seen)
    age = lives.lifetime
    long = age > _threshold(seen)
    certain = long | lives.freed
    return keys[lives.born[certain]], long[certain]


def sizes_of(trace: Trace) -> Keys:
    """Return the size (int64) that each event requests."""
    return trace.size.astype(np.int64)


def sites_of(trace: Trace) -> Keys | None:
    """Return call site and size of each event as one number (int64), or None without sites."""
    if trace.site is None:
        return None
    return trace.site.astype(np.int64) << 40 | np.minimum(trace.size, (1 << 40) - 1)


def second_half(trace: Trace, keys: Keys) -> Flags:
    """Return the predictions in the second half of a trace's events, learned from the first half.

    In the first half nothing is known: all objects are placed at the low end, as in best fit.
    """
    half = len(trace) // 2
    found = guessed(keys, learned([examples(trace, keys, half)]))
    found[:half] = True
    return found


def knows_deaths(trace: Trace) -> int:
    """Return the heap of a policy that knows each object's death at birth, but no future births.

    This is the forward placement from the first event (simalloc/bound/placer.py). Of the eight
    smallest gaps, it takes the gap whose neighbour dies nearest to the object's death. It packs
    nothing in advance.
    """
    table = Timetable.of(trace)
    layout = Placer(table).outward(table.live_after(0), 0, [Fit.MATCH], 1 << 62)
    return 0 if layout is None else layout.height


def _threshold(trace: Any) -> int:
    """Return the allocated bytes that a long-lived object outlives: half of the peak live bytes."""
    return int(trace.replayed.live.max(initial=0)) // 2
