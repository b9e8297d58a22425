"""What a program holds over time: live, resident and mapped bytes, under a few mallocs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.report.figures.axes import bytes_axis, events_axis
from simalloc.report.figures.style import new_figure, styled
from simalloc.report.figures.timelines import both_extremes, draw_live

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from simalloc.heap import Footprint, Run
    from simalloc.measure.settings import Recorded
    from simalloc.report.figures.picture import Picture
    from simalloc.report.figures.style import Palette, Theme

_HIGHEST: Final = 1.6
"""Mapped bytes may go so far above the resident ones before the picture cuts them off."""


def draw_footprints(
    runs: Sequence[Run],
    titles: Sequence[str],
    process: Recorded | None = None,
    *,
    theme: Theme = "light",
) -> Picture:
    """Return a panel a run, on one scale: live, resident and mapped bytes over its events.

    The first has the recorded `process` too, if that was looked at. Every interval is drawn from
    its least to its most. What is mapped far above all that is resident is cut off.
    """
    with styled(theme) as palette:
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
        if process is not None and process.has_samples:
            _draw_process(panels[0], process, palette)
        top = _top(runs, process)
        panels[0].set_ylim(0, 1.05 * top)
        bytes_axis(panels[0].yaxis, top)
        panels[0].set_ylabel("bytes")
        panels[-1].legend(*panels[0].get_legend_handles_labels(), loc="best")
    return figure


def _top(runs: Sequence[Run], process: Recorded | None) -> float:
    written = [run.resident.peak_bytes for run in runs if run.resident is not None]
    if process is not None and process.has_samples:
        written.append(float(process.resident.max()))
    live = max(run.max_live_bytes for run in runs)
    mapped = max(run.mapped.peak_bytes for run in runs)
    return max(1.0, min(mapped, _HIGHEST * max([*written, live]) if written else mapped), *written)


def _draw(axes: Axes, footprint: Footprint, colour: str, label: str) -> None:
    line = footprint.timeline
    time, values = both_extremes(line.interval, line.heap_low, line.heap_high)
    axes.plot(time, values, color=colour, linewidth=1.2, label=label)


def _draw_process(axes: Axes, process: Recorded, palette: Palette) -> None:
    axes.plot(
        process.event,
        np.asarray(process.resident, np.float64),
        color=palette.ink,
        linestyle="dotted",
        linewidth=1.2,
        label="the process, resident",
    )
