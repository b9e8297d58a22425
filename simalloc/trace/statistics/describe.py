"""Everything there is to say of a trace before any policy has seen it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from simalloc.shown import ShownAsTable
from simalloc.trace.events import Op
from simalloc.trace.statistics.behaviour import (
    NeverFreed,
    Reallocs,
    Thread,
    never_freed_of,
    reallocs_of,
    threads_of,
)
from simalloc.trace.statistics.lifetimes import (
    Lifetimes,
    Neighbours,
    lifetimes_of,
    neighbours_of,
)
from simalloc.trace.statistics.liveness import (
    LiveCurve,
    Peak,
    curve_of,
    live_bytes,
    most_together,
    peak_of,
)
from simalloc.trace.statistics.lives import lives_of
from simalloc.trace.statistics.sizes import SizeClass, Sizes, classes_of, sizes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from simalloc.trace.trace import Trace

Part = TypeVar("Part")

_COUNTED: Final = (Op.MALLOC, Op.FREE, Op.REALLOC)
_PARTS: Final = 9
"""Of the work, for its progress: those that take time."""


@dataclass(frozen=True)
class Counts:
    """Counts over the whole trace."""

    events: int
    mallocs: int
    frees: int
    reallocs: int
    objects: int
    """Every realloc counted as a new object, as Johnstone and Wilson do; else it is `mallocs`."""
    bytes: int
    """Bytes requested by mallocs and reallocs."""
    average_size: float
    """Bytes an object; 0 if there are none."""


@dataclass(frozen=True)
class Statistics(ShownAsTable):
    """The statistics of a trace: tables 1, 2, 5, 6 and 7 of Johnstone and Wilson 1998, and more.

    Bytes are bytes requested. Where reallocs matter they make new objects.
    """

    name: str
    added: int
    """Bytes added to every size before `classes` were made; nothing else counts them."""
    counts: Counts
    peak_bytes: Peak
    peak_objects: Peak
    lifetimes: Lifetimes
    neighbours: Neighbours
    sizes: Sizes
    classes: tuple[SizeClass, ...]
    reallocs: Reallocs
    never_freed: NeverFreed
    threads: tuple[Thread, ...]
    live: LiveCurve


def describe(
    trace: Trace, *, added: int = 0, progress: Callable[[float], None] = lambda _: None
) -> Statistics:
    """Return a trace's statistics; `added` bytes are added to each size for the size classes.

    `progress` is called with the share of the work done since the last call. Raises `ValueError`
    if `added` is negative.
    """
    if added < 0:
        raise ValueError(f"added is {added}; it takes 0 or more bytes")

    def done(part: Part) -> Part:
        progress(1 / _PARTS)
        return part

    lives = done(lives_of(trace))
    live = done(live_bytes(trace, lives))
    return Statistics(
        name=trace.name,
        added=added,
        counts=_counts(trace),
        peak_bytes=peak_of(live),
        peak_objects=done(most_together(lives.born, lives.died)),
        lifetimes=done(lifetimes_of(lives)),
        neighbours=done(neighbours_of(lives)),
        sizes=done(sizes_of(lives)),
        classes=done(classes_of(lives, added)),
        reallocs=done(reallocs_of(trace, lives)),
        never_freed=never_freed_of(lives),
        threads=done(threads_of(trace, lives)),
        live=curve_of(trace, live),
    )


def _counts(trace: Trace) -> Counts:
    mallocs, frees, reallocs = (int(np.count_nonzero(trace.op == op)) for op in _COUNTED)
    objects = mallocs + reallocs
    total = int(trace.size.sum())
    return Counts(
        events=len(trace),
        mallocs=mallocs,
        frees=frees,
        reallocs=reallocs,
        objects=objects,
        bytes=total,
        average_size=total / objects if objects else 0.0,
    )
