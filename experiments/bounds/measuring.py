"""The measurements: a row per trace, and a row per policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.bounds.knowing import (
    examples,
    guessed,
    knowing,
    knows_deaths,
    learned,
    long_lived,
    second_half,
    sites_of,
    sizes_of,
)
from simalloc.adversary import played
from simalloc.bound import best_possible
from simalloc.bound.placement import NEAR, Status
from simalloc.heap import simulate
from simalloc.policy import CATALOGUE, AnyPolicy
from simalloc.trace import Trace
from simalloc.trace.catalogue import load

FITS: Final = ("first-fit-ao:growth=16", "best-fit-ao:growth=16")
"""They grow by one byte of the program: sizes are scaled by 16."""

BY_PAGES: Final = "best-fit-ao"
"""As it is in the catalogue."""

PAPERS: Final = tuple(name for name, row in CATALOGUE.items() if "johnstone-wilson" in row.groups)
"""The policies of the papers, whose heap is one range that only grows; as they are."""

ROOM: Final = 0.01
"""Where first fit and best fit waste more than this, there is something to be gained."""

ASKED: Final = ("redis", "lua", "cc1")
"""Traces for which the value of knowledge is measured even without room."""

CHOSEN_ON: Final = ("sqlite", "redis", "f2c", "lua")
"""Traces by which the rule of the policies that know a little was chosen."""

WRONG: Final = 10
"""Percent of the objects with wrong knowledge, in the second trial."""

KNOWLEDGE: Final = {
    "nothing": "no forecast, as a control; objects take low ends in the first half, then high ends",
    "sizes of others": "the sizes that live long in other programs",
    "sizes, first half": "the sizes that lived long in the program's own first half",
    "sites, first half": "the call sites and sizes that lived long in the program's own first half",
    "sites": "the call sites and sizes that live long in the whole program",
    "10 % wrong": "the class of each lifetime, with a tenth of the classes wrong",
    "classes": "the class of each lifetime",
    "deaths": "the time at which each object dies",
}
"""Knowledge of policies, the smallest first."""

SMALL: Final = (1 << 16, 1 << 8)
OF_TREES: Final = (1 << 13, 1 << 8)
LARGE: Final = (1 << 20, 1 << 12)
"""Live bytes and largest object of the games. A tree that is never balanced becomes a list under an
adversary, so its policy plays a smaller one."""

GROWING: Final = tuple(1 << power for power in range(16, 23, 2))
"""Live bytes of the games by which the bound is followed upwards, with the largest of `LARGE`.

The papers' policies play them."""

LONG: Final = {
    ("against-best-fit", "bw-gc-2.6", LARGE[0]),
    ("against-best-fit", "g++-2.5", LARGE[0]),
}
"""Games of many minutes, by adversary, policy and live bytes: they are not played."""


@dataclass(frozen=True)
class Possible:
    """One trace: heaps as excess over peak live, in bytes; `by_pages` is best fit's so grown."""

    trace: str
    live: int
    best: int
    how: str
    first_fit: int
    best_fit: int
    by_pages: int

    @property
    def wasted(self) -> int:
        """Bytes that the better of the two fits takes beyond peak live."""
        return min(self.first_fit, self.best_fit)

    @property
    def status(self) -> Status:
        """Proof on the lowest placement, with peak live as the lower bound."""
        if self.best == 0:
            return "optimal"
        return "bounded" if self.best <= NEAR * self.live else "unproven"

    @property
    def has_room(self) -> bool:
        """True if a saving is possible."""
        return self.wasted > ROOM * self.live


def possible(name: str) -> Possible:
    """Measure one trace."""
    trace = load(name)
    placement = best_possible(trace)
    live = placement.bound
    first, best = (_heap(trace, fit) - live for fit in FITS)
    by_pages = _heap(trace, BY_PAGES) - live
    return Possible(name, live, placement.height - live, placement.how, first, best, by_pages)


def lessons_of(names: Iterable[str]) -> list[int]:
    """Return the sizes that mostly live long in some traces."""
    traces = (load(name) for name in names)
    sizes, long = learned(examples(trace, sizes_of(trace)) for trace in traces)
    found: list[int] = sizes[long].tolist()
    return found


def known(name: str, long_sizes: Sequence[int]) -> dict[str, float]:
    """Return the excess over peak live, as a share of it, by the knowledge of a trace."""
    trace = load(name)
    sizes = sizes_of(trace)
    flags = {
        "nothing": np.arange(len(trace)) < len(trace) // 2,
        "sizes of others": np.isin(sizes, long_sizes),
        "sizes, first half": second_half(trace, sizes),
        f"{WRONG} % wrong": long_lived(trace, WRONG),
        "classes": long_lived(trace),
    }
    found = {what: _excess(trace, _heap(trace, knowing(long))) for what, long in flags.items()}
    found["deaths"] = _excess(trace, knows_deaths(trace))
    return found


def by_sites(trace: Trace) -> dict[str, float]:
    """Return the same for who knows call sites, of a trace that has them."""
    keys = sites_of(trace)
    if keys is None:
        return {}
    flags = {
        "sites, first half": second_half(trace, keys),
        "sites": guessed(keys, learned([examples(trace, keys)])),
    }
    return {what: _excess(trace, _heap(trace, knowing(long))) for what, long in flags.items()}


def _excess(trace: Trace, heap: int) -> float:
    return heap / int(trace.replayed.live.max()) - 1


def _heap(trace: Trace, policy: AnyPolicy) -> int:
    return round(simulate(trace, policy).peak_heap_bytes)


def online() -> list[str]:
    """Return every row of the catalogue that places objects of a heap as they come."""
    return [
        name
        for name, row in CATALOGUE.items()
        if row.description.runner == "online" and not row.description.read_columns
    ]


def playing_large() -> list[str]:
    """Return the rows that play the large games: all in which no event takes long."""
    return [name for name in online() if not CATALOGUE[name].description.is_slow]


def is_played(adversary: str, policy: str, live: int) -> bool:
    """Return whether a game is in the tables; the others take long."""
    return (adversary, policy, live) not in LONG


def small_game(policy: str) -> tuple[int, int]:
    """Return the live bytes and the largest object of a policy's small game."""
    return OF_TREES if CATALOGUE[policy].description.is_slow else SMALL


def ratio(
    adversary: str,
    policy: str,
    live: int,
    largest: int,
    progress: Callable[[int], None] | None = None,
) -> float:
    """Return the heap in multiples of `live` after an adversary has played."""
    game = played(adversary, policy, live=live, largest=largest, progress=progress)
    return game.peak_heap_bytes / live
