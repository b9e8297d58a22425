"""Which sizes a program asks for, and how long they live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.ticker import PercentFormatter

from simalloc.errors import TraceError
from simalloc.report.figures.axes import log_bytes_axis
from simalloc.report.figures.style import new_figure, styled
from simalloc.trace.statistics import Passages

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from simalloc.report.figures.picture import Picture
    from simalloc.report.figures.style import Palette, Theme
    from simalloc.trace import EventSource

_STEPS: Final = 64
"""To a doubling of the size or lifetime: finer than can be seen."""


def draw_lives(source: EventSource, *, theme: Theme = "light") -> Picture:
    """Return sizes and lifetimes of a trace's objects, as shares of objects and of bytes.

    Lifetimes count the bytes allocated meanwhile. Raises `TraceError` for a trace without events.
    """
    if not len(source):
        raise TraceError("has no events to draw", path=source.name)
    by_size, by_lifetime = _Steps(), _Steps()
    for passage in Passages(source):
        by_size.add(passage.ended.size, passage.ended.size)
        by_lifetime.add(passage.ended.lifetime, passage.ended.size)
    with styled(theme) as palette:
        figure = new_figure(2.5)
        sizes, lifetimes = figure.subplots(1, 2, sharey=True)
        _draw_share(sizes, by_size, palette)
        sizes.set_xlabel("size at most (bytes requested)")
        sizes.set_ylabel("share")
        sizes.yaxis.set_major_formatter(PercentFormatter(1.0))
        sizes.set_ylim(0, 1.02)
        _draw_share(lifetimes, by_lifetime, palette)
        lifetimes.set_xlabel("lifetime at most (bytes allocated meanwhile)")
        sizes.legend(loc="lower right")
    return figure


class _Steps:
    """Counts objects and their bytes in steps of a value; a value of 0 counts as 1."""

    def __init__(self) -> None:
        self.objects, self.bytes, self.largest = (np.zeros(64 * _STEPS, np.int64) for _ in range(3))

    def add(self, values: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        """Count objects with these values and sizes."""
        values = np.maximum(values, 1)
        step = (np.log2(values) * _STEPS).astype(np.int64)
        np.add.at(self.objects, step, 1)
        np.add.at(self.bytes, step, sizes)
        np.maximum.at(self.largest, step, values)


def _draw_share(axes: Axes, steps: _Steps, palette: Palette) -> None:
    there = np.flatnonzero(steps.objects)
    for weight, label, style, colour in (
        (steps.objects, "of objects", "-", palette.lines[0]),
        (steps.bytes, "of bytes", "--", palette.lines[1]),
    ):
        reached = np.cumsum(weight[there])
        top = reached[-1] if len(reached) and reached[-1] else 1
        axes.step(
            steps.largest[there], reached / top, where="post", linestyle=style, color=colour,
            linewidth=1.2, label=label,
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    log_bytes_axis(axes.xaxis)
    axes.grid(alpha=0.4)
