"""Figure of live bytes over time, stacked by the size class of the objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

from simalloc.report.figures.axes import bytes_axis, events_axis
from simalloc.report.palettes import Palette
from simalloc.sizes import spell_bytes
from simalloc.trace.events import allocates
from simalloc.trace.statistics import LifeEvents, Peak
from simalloc.trace.statistics.liveness import spans_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


BOUNDS: Final = (64, 1 << 10, 1 << 14, 1 << 18)
"""Boundaries between the size classes in bytes."""

_SPANS: Final = 700
"""Number of spans, more than the number of pixels across the figure."""


def class_colours(palette: Palette) -> NDArray[np.float64]:
    """Return a colour for each size class, from the smallest, shape (classes, 4)."""
    shades = np.linspace(palette.oldest, palette.youngest, len(BOUNDS) + 1)
    return np.asarray(mpl.colormaps["plasma"](shades))


class LiveStack:
    """Finds the maximum of live bytes in each of many spans of events, by size class.

    Therefore every peak is found. `events` is the number of events of the trace.
    """

    def __init__(self, events: int) -> None:
        self.starts = np.unique(np.arange(_SPANS) * events // _SPANS)
        """First event of each span."""
        self.most = np.full(len(self.starts), -1, np.int64)
        """Maximum of live bytes in each span."""
        self.by_class = np.zeros((len(BOUNDS) + 1, len(self.starts)), np.int64)
        """Live bytes of each class at this maximum, shape (classes, spans)."""
        self.peak = Peak(0, 0)
        self.events = events
        self._now = np.zeros((len(BOUNDS) + 1, 1), np.int64)

    def add(self, events: LifeEvents) -> None:
        """Process the next events."""
        if events.last:
            return
        change = np.zeros((len(BOUNDS) + 1, len(events)), np.int64)
        born = np.flatnonzero(allocates(events.op))
        died = events.ended.died - events.first
        np.add.at(change, (_kind(events.size[born]), born), events.size[born])
        np.subtract.at(change, (_kind(events.ended.size), died), events.ended.size)
        held = self._now + np.cumsum(change, axis=1)
        self._now = held[:, -1:]
        spans, cuts = spans_of(self.starts, events.first, len(events))
        ends = np.append(cuts[1:], len(events)).tolist()
        for span, start, end in zip(range(spans.start, spans.stop), cuts, ends, strict=True):
            self._look(events, held, span, slice(int(start), end))

    def _look(self, events: LifeEvents, held: NDArray[np.int64], span: int, part: slice) -> None:
        event = part.start + int(events.live[part].argmax())
        most = int(events.live[event])
        if most <= self.most[span]:
            return
        self.most[span] = most
        self.by_class[:, span] = held[:, event]
        if most > self.peak.amount:
            self.peak = Peak(most, events.first + event)


def _kind(size: NDArray[np.int64]) -> NDArray[np.intp]:
    return np.searchsorted(BOUNDS, size, side="right")


def draw_live(axes: Axes, live: LiveStack, palette: Palette) -> None:
    """Draw the live bytes over time."""
    stack = np.cumsum(live.by_class, axis=0)
    time = np.append(live.starts, live.events)
    below = np.zeros(len(live.starts), np.int64)
    colours = class_colours(palette)
    for number, above in enumerate(stack):
        if (above > below).any():
            axes.fill_between(
                time, _held(below), _held(above), step="post", linewidth=0,
                color=colours[number], label=_class_name(number),
            )  # fmt: skip
        below = above
    axes.step(time, _held(live.most), where="post", color=palette.ink, linewidth=0.6)
    _mark_peak(axes, live, palette)
    axes.set_xlim(0, max(1, live.events))
    events_axis(axes.xaxis)
    axes.set_xlabel("time (events)")
    axes.set_ylabel("live, by size of object")
    axes.grid(axis="y", alpha=0.4)
    axes.set_axisbelow(True)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(stack), handlelength=1.0,
            columnspacing=1.4, borderaxespad=0.0,
        )  # fmt: skip


def _held(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the values of spans as values at their boundaries, with the last value twice."""
    return np.append(values, values[-1:]).astype(np.float64)


def _mark_peak(axes: Axes, live: LiveStack, palette: Palette) -> None:
    event, peak = live.peak.event, live.peak.amount
    axes.set_ylim(0, 1.22 * max(1, peak))
    bytes_axis(axes.yaxis, max(1, peak))
    late = event > live.events / 2
    axes.annotate(
        f"peak {spell_bytes(peak)}",
        (event, peak),
        (-3 if late else 3, 3),
        textcoords="offset points",
        ha="right" if late else "left",
        fontweight="bold",
    )
    axes.plot([event], [peak], "o", markersize=3, color=palette.ink, clip_on=False)


def _class_name(number: int) -> str:
    return f"from {spell_bytes(BOUNDS[number - 1])}" if number else f"below {BOUNDS[0]} B"
