"""Live bytes over time, by the code that asked for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.report.figures.axes import bytes_axis, events_axis
from simalloc.report.figures.style import new_figure, styled

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from simalloc.report.figures.picture import Picture
    from simalloc.report.figures.style import Theme


def draw_live_by_code(
    events: NDArray[np.int64],
    live: NDArray[np.int64],
    names: Sequence[str],
    *,
    theme: Theme = "light",
) -> Picture:
    """Return live bytes, (names, events), one above the other; the last name is of all others."""
    with styled(theme) as palette:
        figure = new_figure(2.9)
        axes = figure.add_subplot()
        colours = [*palette.lines[: len(names) - 1], palette.lines[-1]]
        axes.stackplot(events, live, labels=names, colors=colours, linewidth=0)
        axes.set_xlim(events[0], max(events[-1], 1))
        top = max(1, int(live.sum(0).max(initial=0)))
        axes.set_ylim(0, 1.05 * top)
        bytes_axis(axes.yaxis, top)
        events_axis(axes.xaxis)
        axes.set_xlabel("time (events)")
        axes.set_ylabel("live")
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles[::-1], labels[::-1], loc="outside right upper")
    return figure
