"""The authors' verdict on space: GNU', G++ and QF need less than ULTRIX, the collector more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from experiments.detlefs.heaps import table_10
from experiments.detlefs.measuring import Results
from experiments.detlefs.paper import PAPER

SPARING: Final = ("gnu-1993", "g++-2.5", "quick-fit")
WASTEFUL: Final = "bw-gc-2.6"
MIDDLE: Final = "ultrix"


def space_order(results: Results) -> dict[str, int]:
    """Return the number of available programs on which the verdict holds, in print and here."""
    printed = {program: PAPER.table(10).cells[program] for program in PAPER.programs}
    here = table_10(results).measured
    return {
        "printed": sum(
            _holds({name: cell.value for name, cell in row.items()}) for row in printed.values()
        ),
        "here": sum(_holds(here[program]) for program in PAPER.programs),
    }


def _holds(quotients: Mapping[str, float]) -> bool:
    """Return whether all three are below ULTRIX and the collector is above it."""
    least = quotients[MIDDLE]
    return all(quotients[name] < least for name in SPARING) and quotients[WASTEFUL] > least
