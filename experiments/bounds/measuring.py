"""What is measured: a row a trace, and a row a policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from experiments.bounds.knowing import KnowsLifetimes, knows_deaths
from simalloc.adversary import ADVERSARIES, attack
from simalloc.bound import best_possible
from simalloc.heap import simulate
from simalloc.policy import CATALOGUE
from simalloc.trace.catalogue import load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simalloc.policy import AnyPolicy
    from simalloc.trace import Trace

FITS: Final = ("first-fit-ao:growth=16", "best-fit-ao:growth=16")
"""They grow by one byte of the program: sizes are scaled by 16."""

ROOM: Final = 0.01
"""Where first fit and best fit waste more than this, there is something to be gained."""

WRONG: Final = 10
"""Percent of the objects of which the knowledge is wrong, in the second trial."""

SMALL: Final = (1 << 16, 1 << 8)
LARGE: Final = (1 << 20, 1 << 12)
"""Live bytes and largest object of the games."""


@dataclass(frozen=True)
class Possible:
    """One trace: heaps as excess over peak live, in bytes; the last three only where there is room.

    `classes` and `classes_wrong` are the policy that knows the class of each lifetime, rightly and
    with errors; `deaths` knows when each object dies.
    """

    trace: str
    live: int
    best: int
    how: str
    first_fit: int
    best_fit: int
    classes: int | None = None
    classes_wrong: int | None = None
    deaths: int | None = None

    @property
    def wasted(self) -> int:
        """What the better of the two fits takes beyond peak live."""
        return min(self.first_fit, self.best_fit)


def possible(name: str) -> Possible:
    """Measure one trace."""
    trace = load(name)
    placement = best_possible(trace)
    live = placement.bound
    first, best = (_heap(trace, fit) - live for fit in FITS)
    row = Possible(name, live, placement.height - live, placement.how, first, best)
    if row.wasted <= ROOM * live:
        return row
    return Possible(
        name,
        live,
        row.best,
        row.how,
        first,
        best,
        classes=_heap(trace, KnowsLifetimes()) - live,
        classes_wrong=_heap(trace, KnowsLifetimes(wrong=WRONG)) - live,
        deaths=knows_deaths(trace) - live,
    )


def _heap(trace: Trace, policy: AnyPolicy) -> int:
    return round(simulate(trace, policy).peak_heap_bytes)


@dataclass(frozen=True)
class Worst:
    """One policy: its heap in peaks of live bytes after each adversary, by name."""

    policy: str
    small: Mapping[str, float]
    large: Mapping[str, float]


def rows_to_play() -> list[str]:
    """Return the policies of the papers, whose heap is one range that only grows."""
    return [name for name, row in CATALOGUE.items() if "johnstone-wilson" in row.groups]


def worst(policy: str) -> Worst:
    """Let every adversary play against a policy."""
    return Worst(policy, ratios(policy, *SMALL), ratios(policy, *LARGE))


def ratios(policy: str, live: int, largest: int) -> dict[str, float]:
    """Return the heap in multiples of `live` after each adversary has played."""
    return {name: _ratio(name, policy, live, largest) for name in ADVERSARIES}


def _ratio(adversary: str, policy: str, live: int, largest: int) -> float:
    trace = attack(adversary, policy, live=live, largest=largest)
    return float(trace.provenance["peak_heap_bytes"]) / live
