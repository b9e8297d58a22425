"""Which sizes a program asks for, and how long they live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.ticker import PercentFormatter

from simalloc.errors import TraceError
from simalloc.report.figures.axes import log_bytes_axis
from simalloc.report.figures.style import new_figure, styled
from simalloc.trace.statistics import lives_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from simalloc.report.figures.picture import Picture
    from simalloc.report.figures.style import Palette, Theme
    from simalloc.trace import Trace
    from simalloc.trace.statistics import Lives

_STEPS: Final = 64
"""To a doubling of the size or lifetime: finer than can be seen."""


def draw_lives(trace: Trace, *, theme: Theme = "light") -> Picture:
    """Return sizes and lifetimes of a trace's objects, as shares of objects and of bytes.

    Lifetimes count the bytes allocated meanwhile. Raises `TraceError` for a trace without events.
    """
    if not len(trace):
        raise TraceError("has no events to draw", path=trace.name)
    lives = lives_of(trace)
    with styled(theme) as palette:
        figure = new_figure(2.5)
        sizes, lifetimes = figure.subplots(1, 2, sharey=True)
        _draw_share(sizes, lives.size, lives, palette)
        sizes.set_xlabel("size at most (bytes requested)")
        sizes.set_ylabel("share")
        sizes.yaxis.set_major_formatter(PercentFormatter(1.0))
        sizes.set_ylim(0, 1.02)
        _draw_share(lifetimes, lives.lifetime, lives, palette)
        lifetimes.set_xlabel("lifetime at most (bytes allocated meanwhile)")
        sizes.legend(loc="lower right")
    return figure


def _draw_share(axes: Axes, values: NDArray[np.int64], lives: Lives, palette: Palette) -> None:
    order = np.argsort(values, kind="stable")
    ascending = np.maximum(values[order], 1)
    step = (np.log2(ascending) * _STEPS).astype(np.int64)
    last = np.flatnonzero(np.append(np.diff(step), 1))
    for weight, label, style, colour in (
        (np.ones(len(lives)), "of objects", "-", palette.lines[0]),
        (lives.size[order].astype(np.float64), "of bytes", "--", palette.lines[1]),
    ):
        reached = np.cumsum(weight)[last]
        top = reached[-1] if len(reached) and reached[-1] else 1.0
        axes.step(
            ascending[last], reached / top, where="post", linestyle=style, color=colour,
            linewidth=1.2, label=label,
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    log_bytes_axis(axes.xaxis)
    axes.grid(alpha=0.4)
