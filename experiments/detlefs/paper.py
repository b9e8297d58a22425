"""The paper's printed figures and names."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from experiments.published import Publication

PAPER: Final = Publication(Path(__file__).with_name("published"))

KILOBYTE_OF_REQUESTS: Final = 1000
"""Bytes in a kilobyte of table 2; the paper states this factor."""

KILOBYTE_OF_HEAP: Final = 1024
"""Bytes in a kilobyte of table 9, which explains table 10 (see `units`)."""

KIN: Final = ("kingsley", "kingsley-4.4bsd")
"""Kingsley's malloc as in 4.2BSD and as in 4.4BSD; ULTRIX has a variant of the former."""

NEAR: Final = 0.05
"""Maximum relative difference from print at which a figure is near."""

SAME_RUN: Final = ("espresso", "cfrac", "gawk")
"""Programs whose traces are the paper's runs: the totals of table 2 agree except for stdio buffers.
"""


def relative(name: str) -> str:
    """Return the name of the column with a policy's figures relative to ULTRIX's."""
    return f"{PAPER.label(name)} relative"
