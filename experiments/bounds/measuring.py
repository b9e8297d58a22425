"""The measurements: one row per trace, and one row per policy."""

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
"""First fit and best fit with a growth unit of one program byte; sizes are multiplied by 16."""

BY_PAGES: Final = "best-fit-ao"
"""Best fit with the catalogue's growth unit."""

PAPERS: Final = tuple(name for name, row in CATALOGUE.items() if "johnstone-wilson" in row.groups)
"""Policies of the papers, as in the catalogue, whose heap is one range that only grows."""

ROOM: Final = 0.01
"""Excess of first fit and best fit, as a share of peak live, above which a saving is possible."""

ASKED: Final = ("redis", "lua", "cc1")
"""Traces for which the value of knowledge is measured even if no saving is possible."""

CHOSEN_ON: Final = ("sqlite", "redis", "f2c", "lua")
"""Traces that served to choose the rule of the policies with partial knowledge."""

WRONG: Final = 10
"""Percentage of the objects with wrong knowledge, in the second trial."""

KNOWLEDGE: Final = {
    "nothing": (
        "no forecast (control); objects of the first half take low ends, later objects high ends"
    ),
    "sizes of others": "the sizes that live long in other programs",
    "sizes, first half": "the sizes that lived long in the program's own first half",
    "sites, first half": "the call sites and sizes that lived long in the program's own first half",
    "sites": "the call sites and sizes that live long in the whole program",
    "10 % wrong": "whether each object is long-lived, with a tenth of the answers wrong",
    "classes": "whether each object is long-lived",
    "deaths": "the time at which each object dies",
}
"""Kinds of knowledge, in ascending order of the knowledge that a policy needs."""

SMALL: Final = (1 << 16, 1 << 8)
OF_TREES: Final = (1 << 13, 1 << 8)
LARGE: Final = (1 << 20, 1 << 12)
"""Live bytes and largest object of the large games. An unbalanced tree degenerates to a list under
an adversary, so policies with such a tree play a smaller game."""

GROWING: Final = tuple(1 << power for power in range(16, 23, 2))
"""Live bytes of the games that show the growth of the bound, with the largest object of `LARGE`.

The papers' policies play these games."""

LONG: Final = {
    ("against-best-fit", "bw-gc-2.6", LARGE[0]),
    ("against-best-fit", "g++-2.5", LARGE[0]),
}
"""Games that would take many minutes, by adversary, policy and live bytes; they are not played."""


@dataclass(frozen=True)
class Possible:
    """One trace: heaps as excess over peak live, in bytes.

    `by_pages` is the excess of the policy `BY_PAGES`.
    """

    trace: str
    live: int
    best: int
    how: str
    first_fit: int
    best_fit: int
    by_pages: int

    @property
    def wasted(self) -> int:
        """Bytes beyond peak live that the better of first fit and best fit needs."""
        return min(self.first_fit, self.best_fit)

    @property
    def status(self) -> Status:
        """Status of the proof of the lowest known placement; its lower bound is peak live."""
        if self.best == 0:
            return "optimal"
        return "bounded" if self.best <= NEAR * self.live else "unproven"

    @property
    def has_room(self) -> bool:
        """True if both first fit and best fit waste more than `ROOM` of peak live."""
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
    """Return the sizes whose objects are mostly long-lived in some traces."""
    traces = (load(name) for name in names)
    sizes, long = learned(examples(trace, sizes_of(trace)) for trace in traces)
    found: list[int] = sizes[long].tolist()
    return found


def known(name: str, long_sizes: Sequence[int]) -> dict[str, float]:
    """Return the excess over peak live, as a share of peak live, for each kind of knowledge."""
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
    """Return the excess, as a share of peak live, for knowledge of call sites; {} without sites."""
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
    """Return every row of the catalogue that places objects online in a heap."""
    return [
        name
        for name, row in CATALOGUE.items()
        if row.description.runner == "online" and not row.description.read_columns
    ]


def playing_large() -> list[str]:
    """Return the rows that play the large games: all rows in which no event takes long."""
    return [name for name in online() if not CATALOGUE[name].description.is_slow]


def is_played(adversary: str, policy: str, live: int) -> bool:
    """Return whether a game is played; games that take too long are not."""
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
    """Return the heap after an adversary's game, in multiples of `live`."""
    game = played(adversary, policy, live=live, largest=largest, progress=progress)
    return game.peak_heap_bytes / live
