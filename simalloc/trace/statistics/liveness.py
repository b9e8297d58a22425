"""What is live at the same time: peaks, and live bytes over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simalloc.trace.statistics.lives import Lives
    from simalloc.trace.trace import Trace


@dataclass(frozen=True)
class Peak:
    """The most that is live after any event, and the first event after which it is."""

    amount: int
    event: int


@dataclass(frozen=True)
class LiveCurve:
    """Live bytes over time, in equal spans of events; a span keeps its extremes."""

    last_event: tuple[int, ...]
    """The last event of each span."""
    allocated: tuple[int, ...]
    """Bytes allocated up to there: the other clock."""
    least: tuple[int, ...]
    most: tuple[int, ...]


def live_bytes(trace: Trace, lives: Lives) -> NDArray[np.int64]:
    """Return the bytes requested and not freed after each event. `lives` counts reallocs as new."""
    change = trace.size.copy()
    freed = lives.freed
    change[lives.died[freed]] -= lives.size[freed]
    return np.cumsum(change, out=change)


def peak_of(live: NDArray[np.int64]) -> Peak:
    """Return the peak of what is live after each event."""
    if not len(live):
        return Peak(0, 0)
    event = int(live.argmax())
    return Peak(int(live[event]), event)


def most_together(born: NDArray[np.int64], died: NDArray[np.int64]) -> Peak:
    """Return the most lives that overlap. `born` ascends; at one event deaths precede births."""
    if not len(born):
        return Peak(0, 0)
    dead = np.searchsorted(np.sort(died), born, side="right")
    together = np.arange(1, len(born) + 1) - dead
    first = int(together.argmax())
    return Peak(int(together[first]), int(born[first]))


def curve_of(trace: Trace, live: NDArray[np.int64], spans: int = 60) -> LiveCurve:
    """Return live bytes over time in at most `spans` spans."""
    spans = min(spans, len(live))
    if not spans:
        return LiveCurve((), (), (), ())
    starts = np.arange(spans) * len(live) // spans
    last = np.append(starts[1:], len(live)) - 1
    return LiveCurve(
        last_event=_ints(last),
        allocated=_ints(np.cumsum(np.add.reduceat(trace.size, starts))),
        least=_ints(np.minimum.reduceat(live, starts)),
        most=_ints(np.maximum.reduceat(live, starts)),
    )


def _ints(values: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(values.tolist())
