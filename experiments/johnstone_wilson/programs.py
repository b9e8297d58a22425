"""The paper's eight programs, and the traces that represent them here."""

from __future__ import annotations

from typing import Final

from experiments.johnstone_wilson.published import label, programs
from simalloc.trace import Trace, catalogue

RECONSTRUCTED: Final = ("hyper", "lrusim")
"""Unavailable programs, whose traces are generated from the paper's description."""

MISSING: Final = {
    "grobner": "Grobner's column is empty: neither the program nor a trace was found, and the "
    "paper does not describe it well enough to generate a trace."
}

AVAILABLE: Final = tuple(program for program in programs() if program not in MISSING)
GENUINE: Final = tuple(program for program in AVAILABLE if program not in RECONSTRUCTED)


def load_traces() -> dict[str, Trace]:
    """Return the trace of every program that has one, by the program's name."""
    return {program: catalogue.load(program) for program in AVAILABLE}


def heading(program: str) -> str:
    """Return the program's name for a heading, with "reconstructed" for a generated trace."""
    name = label(program)
    return f"{name}\nreconstructed" if program in RECONSTRUCTED else name
