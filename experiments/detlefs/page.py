"""The page of plain words: what agrees with the paper, what does not, and why.

What the words claim is asserted in tests/papers/test_detlefs.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from experiments.detlefs.heaps import run_of
from experiments.detlefs.paper import KILOBYTE_OF_HEAP, PAPER
from experiments.detlefs.units import UNITS, quotients_met
from experiments.mallocs import missing
from experiments.output import fill_page, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from experiments.detlefs.measuring import Results
    from experiments.output import Exhibit

PAGE: Final = "detlefs.md"

_WORDS: Final = Path(__file__).with_name("page.md")


def page(results: Results, exhibits: Mapping[str, Exhibit]) -> str:
    """Return the page as Markdown."""
    return fill_page(_WORDS, _facts(results), exhibits)


def _facts(results: Results) -> dict[str, Any]:
    (_, (met_1000, cells)), (_, (met_1024, _)) = ((unit, quotients_met(unit)) for unit in UNITS)
    absent = [PAPER.label(name) for name in missing(PAPER)]
    stdio = [
        f"{PAPER.label(program)} with {number}" for program, number in results.buffered.items()
    ]
    return {
        "paper": PAPER.about["paper"],
        "programs": listed([PAPER.label(program) for program in PAPER.programs]),
        "stdio": listed(stdio),
        "gnu_espresso": run_of(results, "espresso", "gnu-1993", stdio=True).peak_heap_bytes
        / KILOBYTE_OF_HEAP,
        "met_1000": met_1000,
        "met_1024": met_1024,
        "cells": cells,
        "absent": f"Not modelled here: {listed(absent)}." if absent else "",
    }
