"""Figure of the sizes and lifetimes of the objects of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import PercentFormatter

from simalloc.errors import TraceError
from simalloc.report.figures.axes import log_bytes_axis
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.style import new_figure, styled
from simalloc.report.palettes import Palette, Theme
from simalloc.trace import EventSource
from simalloc.trace.statistics import Spread, Steps, spread_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_lives(
    source: EventSource,
    spread: Spread | None = None,
    *,
    theme: Theme = "light",
    progress: Callable[[float], None] = lambda _: None,
) -> Picture:
    """Return a figure of the sizes and lifetimes of objects, as shares of objects and of bytes.

    A lifetime is the number of bytes allocated during it. `spread` is the spread of the trace, if
    known. Otherwise the trace is read to compute it, and `progress` is called with the number of
    events processed since its last call. Raises `TraceError` for a trace without events.
    """
    if not len(source):
        raise TraceError("has no events to draw", path=source.name)
    spread = spread or spread_of(source, progress=progress)
    with styled(theme) as palette:
        figure = new_figure(2.5)
        sizes, lifetimes = figure.subplots(1, 2, sharey=True)
        _draw_share(sizes, spread.by_size, palette)
        sizes.set_xlabel("size at most (bytes requested)")
        sizes.set_ylabel("share")
        sizes.yaxis.set_major_formatter(PercentFormatter(1.0))
        sizes.set_ylim(0, 1.02)
        _draw_share(lifetimes, spread.by_lifetime, palette)
        lifetimes.set_xlabel("lifetime at most (bytes allocated meanwhile)")
        sizes.legend(loc="lower right")
    return figure


def _draw_share(axes: Axes, steps: Steps, palette: Palette) -> None:
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
