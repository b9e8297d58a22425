"""The colours of figures and pages, light and dark, which the colour-blind tell apart.

Line colours are Okabe & Ito's (2008), brightened where the background is dark; ages run through
the colour map plasma, which is even in lightness, so that it reads in grey too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

Theme = Literal["light", "dark"]


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
    """Colour for the most important marks."""
    lines: tuple[str, ...]
    """For things of different kinds, the first for the most important."""
    deepest: str
    """End of the shades of the second line colour."""
    youngest: float
    """Position in plasma, from 0 to 1, of the youngest age; old objects contrast with the paper."""
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
"""The colour map at equal distances."""


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
