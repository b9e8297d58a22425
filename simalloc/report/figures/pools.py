"""Figure of refused requests by pool size: a line for each allocator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

from matplotlib.ticker import FuncFormatter

from simalloc.report.figures.axes import bytes_axis
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.style import new_figure, styled
from simalloc.report.palettes import Theme
from simalloc.sizes import spell_bytes

_MARKS = "os^Dv<>P"
_WIDE = 8
"""Factor between the largest and smallest size above which the axis is logarithmic."""


def draw_refusals(
    refused: Mapping[str, tuple[Sequence[int], Sequence[int]]],
    peak_live: int,
    *,
    theme: Theme = "light",
) -> Picture:
    """Return a figure of refused requests by pool size, with a line for each policy.

    `refused` contains the pool sizes and the numbers of refused requests of each policy.
    """
    with styled(theme) as palette:
        figure = new_figure(height=max(3.6, 0.6 + 0.16 * len(refused)))
        axes = figure.add_subplot()
        styles = zip(cycle(palette.lines), cycle(_MARKS), strict=False)
        for (name, (sizes, counts)), (colour, mark) in zip(refused.items(), styles, strict=False):
            axes.plot(sizes, counts, color=colour, marker=mark, markersize=3, lw=1.2, label=name)
        axes.axvline(peak_live, color=palette.faint, lw=1, ls="--", label="peak live")
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_xlim(left=0.95 * peak_live)
        first, last = axes.get_xlim()
        if last > _WIDE * first:
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: spell_bytes(value)))
        else:
            bytes_axis(axes.xaxis, last - first)
        axes.set_xlabel("pool size")
        axes.set_ylabel("refused requests")
        axes.grid(alpha=0.4)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), borderaxespad=0.2)
    return figure
