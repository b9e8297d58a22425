"""The picture of the page: live, resident and mapped bytes over time, one panel per setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simalloc.heap import Footprint, Run
from simalloc.report.extremes import HIGHEST, both_extremes
from simalloc.report.figures.axes import bytes_axis, events_axis
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.style import new_figure, styled
from simalloc.report.figures.timelines import draw_live

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_footprints(runs: Sequence[Run], titles: Sequence[str]) -> Picture:
    """Return one panel per run with pages, all on one scale, from the minimum to the maximum.

    Mapped bytes far above all resident bytes are cut off.
    """
    with styled("light") as palette:
        figure = new_figure(2.9)
        panels = figure.subplots(1, len(runs), sharey=True, squeeze=False)[0]
        for axes, run, title in zip(panels, runs, titles, strict=True):
            draw_live(axes, run.timeline, palette)
            _draw(axes, run.mapped, palette.lines[5], "mapped")
            if run.resident is not None:
                _draw(axes, run.resident, palette.lines[1], "resident")
            axes.set_xlim(0, run.events)
            axes.set_title(title)
            axes.set_xlabel("time (events)")
            events_axis(axes.xaxis)
            axes.grid(axis="y", alpha=0.4)
            axes.set_axisbelow(True)
        written = max(run.resident.peak_bytes for run in runs if run.resident is not None)
        top = min(HIGHEST * written, max(run.mapped.peak_bytes for run in runs))
        panels[0].set_ylim(0, 1.05 * top)
        bytes_axis(panels[0].yaxis, top)
        panels[0].set_ylabel("bytes")
        panels[-1].legend(*panels[0].get_legend_handles_labels(), loc="best")
    return figure


def _draw(axes: Axes, footprint: Footprint, colour: str, label: str) -> None:
    line = footprint.timeline
    time, values = both_extremes(line.interval, line.heap_low, line.heap_high)
    axes.plot(time, values, color=colour, linewidth=1.2, label=label)
