"""Figure of the bytes of heaps by kind: a stacked bar for each heap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simalloc.measure import Waste
from simalloc.measure.waste import FREE_PARTS, PARTS
from simalloc.report.figures.axes import bytes_axis
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.style import new_figure_of_rows, styled
from simalloc.report.figures.titles import row_names
from simalloc.report.palettes import Palette, Theme

_LEGEND_ROWS: Final = 6
"""Height of the legend in rows of bars."""


def draw_waste(wastes: Sequence[Waste], *, theme: Theme = "light") -> Picture:
    """Return a figure with a bar for each heap, divided into the kinds of its bytes.

    A thin bar below shows the cached and free bytes by the state of their pages, if known.

    Raises `SimallocError` if `wastes` is empty.
    """
    with styled(theme) as palette:
        names = row_names(waste.name for waste in wastes)
        figure = new_figure_of_rows(names, bars=_LEGEND_ROWS)
        axes = figure.add_subplot()
        places = range(len(wastes))
        left = [0.0] * len(wastes)
        for part, colour in _colours(palette).items():
            sizes = [float(getattr(waste, part)) for waste in wastes]
            if any(sizes):
                axes.barh(places, sizes, 0.6, left, color=colour, label=PARTS[part], linewidth=0)
            left = [start + size for start, size in zip(left, sizes, strict=True)]
        _draw_pages(axes, wastes, palette)
        axes.set_yticks(places, names)
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.spines["left"].set_visible(False)
        axes.set_xlim(0, 1.02 * max(left) or 1)
        bytes_axis(axes.xaxis, max(left))
        axes.set_xlabel("heap at its peak")
        axes.grid(axis="x", alpha=0.4)
        axes.set_axisbelow(True)
        axes.legend(
            loc="upper left", bbox_to_anchor=(1.0, 1.02), borderaxespad=0.2, labelspacing=0.3
        )
    return figure


def _draw_pages(axes: Any, wastes: Sequence[Waste], palette: Palette) -> None:
    """Draw the states of the pages of free and cached bytes below the bars."""
    kinds = ("cached", "free_inside", "free_at_top")
    known = [(place, waste) for place, waste in enumerate(wastes) if waste.resident is not None]
    left = [waste.heap - sum(getattr(waste, kind) for kind in kinds) for _, waste in known]
    places = [place + 0.38 for place, _ in known]
    shades = (palette.ink, palette.paper, palette.faint)
    for (part, word), shade in zip(FREE_PARTS.items(), shades, strict=True):
        sizes = [getattr(waste, part) for _, waste in known]
        if any(sizes):
            axes.barh(places, sizes, 0.16, left, color=shade, label=word, edgecolor=palette.ink,
                      linewidth=0.4)  # fmt: skip
        left = [start + size for start, size in zip(left, sizes, strict=True)]


def _colours(palette: Palette) -> dict[str, str]:
    """Return the colour of each part, from the program's own bytes to unusable bytes."""
    blue, orange, green, pink, yellow, sky, grey = palette.lines
    return dict(
        zip(PARTS, (blue, orange, yellow, pink, green, sky, palette.free, grey), strict=True)
    )
