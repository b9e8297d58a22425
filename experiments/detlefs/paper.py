"""The paper's printed figures, and its names."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from experiments.published import Publication

PAPER: Final = Publication(Path(__file__).with_name("published"))

KILOBYTE_OF_REQUESTS: Final = 1000
"""In table 2; the paper writes the factor."""

KILOBYTE_OF_HEAP: Final = 1024
"""In table 9: table 10 comes out with it (`units`)."""

KIN: Final = ("kingsley", "kingsley-4.4bsd")
"""Kingsley's malloc as in 4.2BSD, whose variant ULTRIX has, and as of 4.4BSD."""

NEAR: Final = 0.05
"""A figure is near if it is within this share of print."""

SAME_RUN: Final = ("espresso", "cfrac", "gawk")
"""Programs whose traces are the paper's runs: table 2's totals agree except for stdio buffers."""


def relative(name: str) -> str:
    """Return the column of a policy's figures relative to ULTRIX's."""
    return f"{PAPER.label(name)} relative"
