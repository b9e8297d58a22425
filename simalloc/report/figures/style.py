"""Style of all figures: their theme, and their size on paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import matplotlib as mpl

from simalloc.errors import SimallocError
from simalloc.report.figures.picture import Picture
from simalloc.report.palettes import PALETTES, Palette, Theme

PAPER_WIDTH: Final = 7.0
"""Width of a figure in inches: two columns of a paper, or a page of a report."""


@contextmanager
def styled(theme: Theme) -> Iterator[Palette]:
    """Draw the figures of the `with` block in a theme."""
    if not isinstance(theme, str) or theme not in PALETTES:
        raise SimallocError(f"unknown theme {theme!r}; choose one of {', '.join(PALETTES)}")
    palette = PALETTES[theme]
    settings: Any = {
        "axes.edgecolor": palette.ink,
        "axes.facecolor": palette.paper,
        "axes.grid": False,
        "axes.labelcolor": palette.ink,
        "axes.labelsize": 8,
        "axes.linewidth": 0.6,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 9,
        "figure.dpi": 150,
        "figure.facecolor": palette.paper,
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": 8,
        "grid.color": palette.faint,
        "grid.linewidth": 0.4,
        "legend.fontsize": 7.5,
        "legend.frameon": False,
        "savefig.facecolor": palette.paper,
        "svg.hashsalt": "simalloc",
        "text.color": palette.ink,
        "xtick.color": palette.ink,
        "xtick.labelsize": 7.5,
        "xtick.major.width": 0.6,
        "ytick.color": palette.ink,
        "ytick.labelsize": 7.5,
        "ytick.major.width": 0.6,
    }
    with mpl.rc_context(settings):
        yield palette


def new_figure_of_rows(names: Sequence[str], bars: int = 0) -> Picture:
    """Return an empty figure with a row for each name, and the height of at least `bars` rows.

    All rows are as high as the name with the most lines. Raises `SimallocError` without names.
    """
    if not names:
        raise SimallocError("the list of runs is empty; give at least one run to draw")
    lines = max(name.count("\n") for name in names) + 1
    return new_figure(0.75 + 0.2 * max(len(names) * lines, bars))


def new_figure(
    height: float, width: float = PAPER_WIDTH, margins: Mapping[str, float] | None = None
) -> Picture:
    """Return an empty figure without a window; `height` and `width` are in inches.

    `margins` are shares of the figure. By default, the margins fit the contents.
    """
    figure = Picture(figsize=(width, height), layout=None if margins else "constrained")
    if margins:
        figure.subplots_adjust(**margins)
    return figure
