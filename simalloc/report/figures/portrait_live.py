"""Live bytes over time, stacked by the sizes of the objects that hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import matplotlib as mpl
import numpy as np

from simalloc.report.figures.axes import bytes_axis, events_axis
from simalloc.report.units import spell_bytes
from simalloc.trace.statistics import live_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from simalloc.report.figures.style import Palette
    from simalloc.trace import Trace
    from simalloc.trace.statistics import Lives

BOUNDS: Final = (64, 1 << 10, 1 << 14, 1 << 18)
"""Where one class of sizes ends and the next begins, in bytes."""

_SPANS: Final = 700
"""More than there are dots across the paper's width."""


def class_colours(palette: Palette) -> NDArray[np.float64]:
    """Return a colour for each class of sizes, from the smallest, shape (classes, 4)."""
    shades = np.linspace(palette.oldest, palette.youngest, len(BOUNDS) + 1)
    return np.asarray(mpl.colormaps["plasma"](shades))


def draw_live(axes: Axes, trace: Trace, lives: Lives, palette: Palette) -> None:
    """Draw what is live when most is, in each of many spans of events: no peak is lost."""
    live = live_bytes(trace, lives)
    starts = np.unique(np.arange(_SPANS) * len(live) // _SPANS)
    events = _events_of_most(live, starts)
    stack = np.cumsum(_live_by_class(lives, events), axis=0)
    time = np.append(starts, len(live))
    below = np.zeros(len(events))
    colours = class_colours(palette)
    for number, above in enumerate(stack):
        if (above > below).any():
            axes.fill_between(
                time, _held(below), _held(above), step="post", linewidth=0,
                color=colours[number], label=_class_name(number),
            )  # fmt: skip
        below = above
    axes.step(time, _held(live[events]), where="post", color=palette.ink, linewidth=0.6)
    _mark_peak(axes, live, palette)
    axes.set_xlim(0, max(1, len(live)))
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


def _events_of_most(live: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    ends = np.append(starts[1:], len(live))
    return np.array(
        [a + int(live[a:b].argmax()) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)],
        np.int64,
    )


def _live_by_class(lives: Lives, events: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the bytes of each class that are live after some events, shape (classes, events)."""
    kind = np.searchsorted(BOUNDS, lives.size, side="right")
    columns = len(events) + 1  # the last for what comes after them all
    change = np.zeros((len(BOUNDS) + 1) * columns)
    for when, sign in ((lives.born, 1.0), (lives.died, -1.0)):
        cell = kind * columns + np.searchsorted(events, when)
        change += sign * np.bincount(cell, weights=lives.size, minlength=len(change))
    by_class: NDArray[np.float64] = np.cumsum(change.reshape(-1, columns), axis=1)[:, :-1]
    return by_class


def _held(values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Return one value a span as one a boundary: the last span's holds until the end."""
    return np.append(values, values[-1:]).astype(np.float64)


def _mark_peak(axes: Axes, live: NDArray[np.int64], palette: Palette) -> None:
    event = int(live.argmax())
    peak = int(live[event])
    axes.set_ylim(0, 1.22 * max(1, peak))
    bytes_axis(axes.yaxis, max(1, peak))
    late = event > len(live) / 2
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
