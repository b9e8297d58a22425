"""What a program does besides malloc and free: reallocs, objects left behind, threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simalloc.trace.events import Op

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simalloc.trace.statistics.lives import Lives
    from simalloc.trace.trace import Trace


@dataclass(frozen=True)
class Reallocs:
    """How objects are reallocated."""

    events: int
    grew: int
    shrank: int
    unchanged: int
    objects: int
    """Objects that are reallocated at all."""
    most: int
    """The most reallocs of one object."""
    kept_bytes: int
    """What all reallocs together copy if every one of them moves its object."""


@dataclass(frozen=True)
class NeverFreed:
    """What is still live when the trace ends."""

    objects: int
    bytes: int
    share_of_objects: float
    """Of all objects, reallocs counted as new; 0 if there are none."""
    share_of_bytes: float
    """Of all bytes allocated; 0 if there are none."""


@dataclass(frozen=True)
class Thread:
    """What one thread does."""

    thread: int
    events: int
    objects: int
    """Objects it allocates, reallocs counted as new."""
    bytes: int
    freed_for_others: int
    """Objects it frees or reallocates that another thread allocated or reallocated last."""


def reallocs_of(trace: Trace, lives: Lives) -> Reallocs:
    """Return how objects are reallocated. `lives` counts reallocs as new."""
    at = trace.op == Op.REALLOC
    ended = lives.freed
    before = np.zeros(len(trace), np.int64)
    before[lives.died[ended]] = lives.size[ended]
    old, new = before[at], trace.size[at]
    _, times = np.unique(trace.object[at], return_counts=True)
    return Reallocs(
        events=len(new),
        grew=int(np.count_nonzero(new > old)),
        shrank=int(np.count_nonzero(new < old)),
        unchanged=int(np.count_nonzero(new == old)),
        objects=len(times),
        most=int(times.max(initial=0)),
        kept_bytes=int(np.minimum(old, new).sum()),
    )


def never_freed_of(lives: Lives) -> NeverFreed:
    """Return what is still live at the end."""
    left = lives.size[~lives.freed]
    total = int(lives.size.sum())
    return NeverFreed(
        objects=len(left),
        bytes=int(left.sum()),
        share_of_objects=len(left) / len(lives) if len(lives) else 0.0,
        share_of_bytes=int(left.sum()) / total if total else 0.0,
    )


def threads_of(trace: Trace, lives: Lives) -> tuple[Thread, ...]:
    """Return what each thread does, by number; nothing if the trace does not tell.

    `lives` counts reallocs as new.
    """
    if trace.thread is None:
        return ()
    numbers, thread = np.unique(trace.thread, return_inverse=True)
    born, size = thread[lives.born], lives.size
    died = thread[lives.died[lives.freed]]
    foreign = died[died != born[lives.freed]]
    count = len(numbers)
    columns = (
        numbers,
        np.bincount(thread, minlength=count),
        np.bincount(born, minlength=count),
        _sums(born, size, count),
        np.bincount(foreign, minlength=count),
    )
    return tuple(Thread(*row) for row in zip(*(c.tolist() for c in columns), strict=True))


def _sums(group: NDArray[np.intp], values: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the sums of the values of each group, exactly (bincount's weights are floats)."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, group, values)
    return sums
