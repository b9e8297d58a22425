"""Figure of the fragmentation by policy and trace: a table with shaded cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import Colormap, LinearSegmentedColormap, PowerNorm
from numpy.typing import NDArray

from simalloc.report.figures.picture import Picture
from simalloc.report.figures.ranking import meaning
from simalloc.report.figures.style import new_figure_of_rows, styled
from simalloc.report.figures.titles import row_names
from simalloc.report.palettes import Palette, Theme
from simalloc.report.units import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simalloc.measure import Rank


def draw_fragmentation(
    ranks: Sequence[Rank], *, measure: int = 4, of: str = "mapped", theme: Theme = "light"
) -> Picture:
    """Return a figure of a measure, #1 to #4, in percent, by policy and trace, in rank order.

    Raises `SimallocError` if `ranks` is empty.
    """
    with styled(theme) as palette:
        names = row_names(rank.policy for rank in ranks)
        figure = new_figure_of_rows(names)
        axes = figure.add_subplot()
        traces = list(ranks[0].by_trace)
        values = np.array([[rank.by_trace[trace] for trace in traces] for rank in ranks])
        norm = PowerNorm(0.4, vmin=0.0, vmax=max(1.0, float(values.max())), clip=True)
        shades = _shades(palette)
        axes.imshow(values, aspect="auto", cmap=shades, norm=norm)
        _write(axes, values, shades(norm(values)))
        axes.set_xticks(range(len(traces)), traces)
        axes.set_yticks(range(len(ranks)), names)
        axes.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_xlabel(f"fragmentation in percent, {meaning(measure, of)}")
    return figure


def _shades(palette: Palette) -> Colormap:
    return LinearSegmentedColormap.from_list(
        "waste", [palette.paper, palette.lines[1], palette.deepest]
    )


def _write(axes: Axes, values: NDArray[np.float64], colours: NDArray[np.float64]) -> None:
    """Write each number in black or white, whichever contrasts with its cell."""
    for (row, column), value in np.ndenumerate(values):
        lightness = colours[row, column, :3] @ (0.299, 0.587, 0.114)
        axes.text(
            column,
            row,
            percent(value).text,
            color="#111111" if lightness > 0.5 else "#f4f4f4",
            ha="center",
            va="center",
            fontsize=7,
        )
