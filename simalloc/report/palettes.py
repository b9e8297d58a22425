"""Colours of figures and pages, light and dark, that the colour-blind can distinguish.

Line colours follow Okabe & Ito (2008), but are brighter on the dark background. Ages use the colour
map plasma. Its lightness is even, so that it can be read in grey.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

Theme = Literal["light", "dark"]


@dataclass(frozen=True)
class Palette:
    """Colours of a theme."""

    paper: str
    ink: str
    faint: str
    """Colour of grid lines and of secondary text."""
    free: str
    """Colour of heap memory without live objects."""
    accent: str
    """Colour for the most important marks."""
    lines: tuple[str, ...]
    """Colours of lines, the first for the most important line."""
    deepest: str
    """Last shade of the second line colour."""
    youngest: float
    """Position in plasma, from 0 to 1, of the youngest age. Old objects contrast with the paper."""
    oldest: float


PALETTES: Final[dict[Theme, Palette]] = {
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

_PLASMA: Final = (
    "0d0887", "3a049a", "5c01a6", "7e03a8", "9c179e", "b52f8c", "cc4778",
    "de5f65", "ed7953", "f89441", "fdb22f", "fbd524", "f0f921",
)  # fmt: skip
"""Colours of the colour map plasma at equal distances."""


def css_variables(palette: Palette) -> str:
    """Return a palette as declarations of the page's CSS variables."""
    declared = {
        "--paper": palette.paper,
        "--ink": palette.ink,
        "--faint": palette.faint,
        "--free": palette.free,
        "--accent": palette.accent,
        **{f"--line-{place}": colour for place, colour in enumerate(palette.lines)},
    }
    return " ".join(f"{variable}: {colour};" for variable, colour in declared.items())


def age_shades(palette: Palette, count: int) -> list[str]:
    """Return the colours of ages, from the youngest to the oldest."""
    known = np.array([tuple(bytes.fromhex(colour)) for colour in _PLASMA])
    at = np.linspace(palette.youngest, palette.oldest, count) * (len(known) - 1)
    parts = [np.interp(at, np.arange(len(known)), part).round() for part in known.T]
    return [f"#{bytes(map(int, colour)).hex()}" for colour in zip(*parts, strict=True)]
