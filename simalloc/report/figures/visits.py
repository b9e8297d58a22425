"""Figure of the numbers of free blocks that searches visit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.ticker import FuncFormatter

from simalloc.policy import spell
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.style import new_figure_of_rows, styled
from simalloc.report.figures.titles import row_names
from simalloc.report.palettes import Theme
from simalloc.report.units import spell_events

if TYPE_CHECKING:
    from simalloc.heap import Run


def draw_visits(runs: Sequence[Run], *, theme: Theme = "light") -> Picture:
    """Return a figure of the free blocks visited per allocation, mean and maximum, by run.

    These are the visits of a search in the policy's plain structure (docs/policies.md). Raises
    `SimallocError` if `runs` is empty.
    """
    ordered = sorted(runs, key=lambda run: run.counters.visited_mean)
    several = len({run.trace for run in runs}) > 1
    with styled(theme) as palette:
        names = row_names(
            f"{run.trace}, {spell(run.policy)}" if several else spell(run.policy) for run in ordered
        )
        figure = new_figure_of_rows(names)
        axes = figure.add_subplot()
        rows = range(len(ordered))
        means = [run.counters.visited_mean for run in ordered]
        worst = [run.counters.visited_worst for run in ordered]
        axes.hlines(rows, means, worst, color=palette.faint, linewidth=0.8)
        axes.plot(means, rows, "D", color=palette.lines[0], markersize=4, label="mean")
        axes.plot(worst, rows, "|", color=palette.lines[1], markersize=8, label="worst")
        axes.set_yticks(rows, names)
        axes.set_ylim(len(ordered) - 0.4, -0.6)
        axes.set_xscale("symlog", linthresh=1.0)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: spell_events(value)))
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("free blocks that an allocation visits")
        axes.grid(axis="x", alpha=0.4)
        axes.set_axisbelow(True)
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    return figure
