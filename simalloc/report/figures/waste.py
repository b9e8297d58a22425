"""Where the bytes of heaps go: a bar a heap, stacked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simalloc.measure.waste import PARTS
from simalloc.report.figures.axes import bytes_axis
from simalloc.report.figures.style import new_figure_of_rows, styled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simalloc.measure import Waste
    from simalloc.report.figures.picture import Picture
    from simalloc.report.figures.style import Palette, Theme


def draw_waste(wastes: Sequence[Waste], *, theme: Theme = "light") -> Picture:
    """Return a bar for each heap, in their order, made of what its bytes are.

    Raises `SimallocError` if there are no heaps.
    """
    with styled(theme) as palette:
        figure = new_figure_of_rows(len(wastes))
        axes = figure.add_subplot()
        places = range(len(wastes))
        left = [0.0] * len(wastes)
        for part, colour in _colours(palette).items():
            sizes = [float(getattr(waste, part)) for waste in wastes]
            if any(sizes):
                axes.barh(places, sizes, 0.7, left, color=colour, label=PARTS[part], linewidth=0)
            left = [start + size for start, size in zip(left, sizes, strict=True)]
        axes.set_yticks(places, [waste.policy for waste in wastes])
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.spines["left"].set_visible(False)
        axes.set_xlim(0, 1.02 * max(left) or 1)
        bytes_axis(axes.xaxis, max(left))
        axes.set_xlabel("heap at its peak")
        axes.grid(axis="x", alpha=0.4)
        axes.set_axisbelow(True)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), borderaxespad=0.2)
    return figure


def _colours(palette: Palette) -> dict[str, str]:
    """Return the colour of each part, from what the program has to what it cannot have."""
    blue, orange, green, pink, yellow, sky, grey = palette.lines
    return dict(
        zip(PARTS, (blue, orange, yellow, pink, green, sky, palette.free, grey), strict=True)
    )
