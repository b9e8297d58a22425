"""How every figure looks: colours that the colour-blind tell apart, sizes for paper, themes.

Line colours are Okabe & Ito's (2008), brightened where the background is dark; ages run through
matplotlib's plasma, which is even in lightness, so that it reads in grey too.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import matplotlib as mpl

from simalloc.errors import SimallocError
from simalloc.report.figures.picture import Picture

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Theme = Literal["light", "dark", "page"]
"""`page`: colours that stand for CSS variables, for figures in an HTML page of either theme."""

PAPER_WIDTH: Final = 7.0
"""Inches: two columns of a paper, or a page of a report."""


@dataclass(frozen=True)
class Palette:
    """A theme's colours."""

    paper: str
    ink: str
    faint: str
    """Grid lines, and text that steps back."""
    free: str
    """Memory of the heap that nothing lives in."""
    accent: str
    """What the eye shall find at once."""
    lines: tuple[str, ...]
    """For things of different kinds, the first for the most important."""
    deepest: str
    """Where shades of the second line colour end."""
    youngest: float
    """Where in plasma, from 0 to 1, ages begin; what is old stands out from the paper."""
    oldest: float


PALETTES: Final[dict[Literal["light", "dark"], Palette]] = {
    "light": Palette(
        paper="#ffffff",
        ink="#1b1b1b",
        faint="#9a9a9a",
        free="#eceae4",
        accent="#009e73",
        lines=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5d5d5d"),
        deepest="#5e1f00",
        youngest=0.9,
        oldest=0.0,
    ),
    "dark": Palette(
        paper="#14171c",
        ink="#e9e7e2",
        faint="#767b84",
        free="#2b3038",
        accent="#4fe0b0",
        lines=("#56b4e9", "#ff8a3d", "#2fc799", "#e59ac4", "#f2c14e", "#3f8fd0", "#b4b4b4"),
        deepest="#ffe3cf",
        youngest=0.2,
        oldest=0.98,
    ),
}

_PAGE: Final = Palette(
    paper="#fe0001",
    ink="#fe0002",
    faint="#fe0003",
    free="#fe0004",
    accent="#fe0005",
    lines=tuple(f"#fe001{place}" for place in range(7)),
    deepest="#fe0006",
    youngest=0.0,
    oldest=0.0,
)


def _by_variable(palette: Palette) -> dict[str, str]:
    """Return the colours of a palette by the CSS variables that a page has for them."""
    return {
        "--paper": palette.paper,
        "--ink": palette.ink,
        "--faint": palette.faint,
        "--free": palette.free,
        "--accent": palette.accent,
        **{f"--line-{place}": colour for place, colour in enumerate(palette.lines)},
    }


PAGE_COLOURS: Final = {colour: variable for variable, colour in _by_variable(_PAGE).items()}
"""The CSS variable that each colour of the theme `page` stands for."""


def css_variables(palette: Palette) -> str:
    """Return a palette as declarations of the page's CSS variables."""
    declared = _by_variable(palette).items()
    return " ".join(f"{variable}: {colour};" for variable, colour in declared)


@contextmanager
def styled(theme: Theme) -> Iterator[Palette]:
    """Draw what the block draws in a theme."""
    palette = _PAGE if theme == "page" else PALETTES[theme]
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


def new_figure_of_rows(rows: int) -> Picture:
    """Return an empty figure as high as a row for each run or policy takes.

    Raises `SimallocError` if there are none.
    """
    if not rows:
        raise SimallocError("there are no runs to draw")
    return new_figure(0.75 + 0.2 * rows)


def new_figure(
    height: float, width: float = PAPER_WIDTH, margins: Mapping[str, float] | None = None
) -> Picture:
    """Return an empty figure, in inches, that belongs to no window.

    Its margins are made to fit what it will hold, unless they are given, as shares of it.
    """
    figure = Picture(figsize=(width, height), layout=None if margins else "constrained")
    if margins:
        figure.subplots_adjust(**margins)
    return figure
