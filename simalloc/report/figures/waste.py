"""Where the bytes of heaps go: a bar a heap, stacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from simalloc.measure import Waste
from simalloc.measure.waste import FREE_PARTS, PARTS
from simalloc.report.figures.axes import bytes_axis
from simalloc.report.figures.picture import Picture
from simalloc.report.figures.style import new_figure_of_rows, styled
from simalloc.report.palettes import Palette, Theme

_LEGEND_ROWS: Final = 6
"""The legend takes the room of this many bars."""


def draw_waste(wastes: Sequence[Waste], *, theme: Theme = "light") -> Picture:
    """Return a bar for each heap, in their order, made of what its bytes are.

    A thin bar below shows what is cached or free by its pages, where they are known.

    Raises `SimallocError` if there are no heaps.
    """
    with styled(theme) as palette:
        figure = new_figure_of_rows(max(len(wastes), _LEGEND_ROWS) if wastes else 0)
        axes = figure.add_subplot()
        places = range(len(wastes))
        left = [0.0] * len(wastes)
        for part, colour in _colours(palette).items():
            sizes = [float(getattr(waste, part)) for waste in wastes]
            if any(sizes):
                axes.barh(places, sizes, 0.6, left, color=colour, label=PARTS[part], linewidth=0)
            left = [start + size for start, size in zip(left, sizes, strict=True)]
        _draw_pages(axes, wastes, palette)
        axes.set_yticks(places, [waste.policy for waste in wastes])
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
    """Draw below what is free or cached in which of its pages it lies."""
    kinds = ("cached", "free_inside", "free_at_top")
    told = [(place, waste) for place, waste in enumerate(wastes) if waste.resident is not None]
    left = [waste.heap - sum(getattr(waste, kind) for kind in kinds) for _, waste in told]
    places = [place + 0.38 for place, _ in told]
    shades = (palette.ink, palette.paper, palette.faint)
    for (part, word), shade in zip(FREE_PARTS.items(), shades, strict=True):
        sizes = [getattr(waste, part) for _, waste in told]
        if any(sizes):
            axes.barh(places, sizes, 0.16, left, color=shade, label=word, edgecolor=palette.ink,
                      linewidth=0.4)  # fmt: skip
        left = [start + size for start, size in zip(left, sizes, strict=True)]


def _colours(palette: Palette) -> dict[str, str]:
    """Return the colour of each part, from what the program has to what it cannot have."""
    blue, orange, green, pink, yellow, sky, grey = palette.lines
    return dict(
        zip(PARTS, (blue, orange, yellow, pink, green, sky, palette.free, grey), strict=True)
    )
