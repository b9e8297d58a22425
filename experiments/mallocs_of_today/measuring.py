"""Every shipped trace under models of the mallocs of today."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from experiments.shipped import shipped
from simalloc.heap import simulate_all
from simalloc.policy import CATALOGUE
from simalloc.trace.catalogue import open_source

if TYPE_CHECKING:
    from experiments.mallocs import Progress
    from simalloc.heap import Run

TICK: Final = 1000
"""Nanoseconds that the clock goes an event: the shipped traces have no times."""

MALLOCS: Final = tuple(
    name
    for name in ("ptmalloc", "jemalloc", "tcmalloc", "mimalloc", "scudo", "musl")
    if name in CATALOGUE
)
"""The mallocs of today that have models."""

YARDSTICK: Final = "first-fit-ao"
"""Johnstone & Wilson's answer, of which only the policy is measured."""

HUGE: Final = "mimalloc, huge pages"
"""mimalloc as it is by default: it asks the system for pages of 2 MiB. No other model has them."""

WHOLE: Final = (*MALLOCS, HUGE)
"""What is measured with its mechanism."""

_CLOCKED: Final = ("jemalloc", "mimalloc", "scudo")


@dataclass(frozen=True)
class Measured:
    """One trace: with mechanism, and the policy alone, each malloc's run by its name."""

    program: str
    live: int
    final_live: int
    whole: dict[str, Run]
    alone: dict[str, Run]
    yardstick: Run

    def peak(self, malloc: str) -> float:
        """Return the resident bytes at the peak over the most live bytes, less 1."""
        resident = self.whole[malloc].resident
        assert resident is not None, "it has been asked for"
        return resident.peak_bytes / self.live - 1

    def final(self, malloc: str) -> float:
        """Return the resident bytes at the end."""
        resident = self.whole[malloc].resident
        assert resident is not None, "it has been asked for"
        return resident.final_bytes

    def policy_alone(self, malloc: str) -> float:
        """Return the peak of occupied pages without mechanism over the most live bytes, less 1."""
        return self.alone[malloc].occupied[4096].peak_bytes / self.live - 1


def text_of(malloc: str, *, mechanism: bool) -> str:
    """Return the text of the policy."""
    name = "mimalloc" if malloc == HUGE else malloc
    clock = f",tick={TICK}" if name in _CLOCKED else ""
    pages = ",allow_thp=0" if malloc == "mimalloc" and mechanism else ""
    return f"{name}:mechanism={'on' if mechanism else 'off'}{clock}{pages}"


def measure(progress: Progress) -> list[Measured]:
    """Replay every shipped trace under each malloc, whole and without its mechanism."""
    found = []
    policies = [text_of(malloc, mechanism=True) for malloc in WHOLE]
    policies += [text_of(malloc, mechanism=False) for malloc in MALLOCS]
    for name in shipped():
        source = open_source(name)
        with progress(name, len(source) * (len(policies) + 1)) as advance:
            runs = simulate_all(
                source, policies, scale=1, resident=True, occupied=[4096], progress=advance
            )
            (yardstick,) = simulate_all(source, [YARDSTICK], occupied=[4096], progress=advance)
        count = len(WHOLE)
        found.append(
            Measured(
                name,
                yardstick.max_live_bytes,
                yardstick.final_live_bytes,
                dict(zip(WHOLE, runs[:count], strict=True)),
                dict(zip(MALLOCS, runs[count:], strict=True)),
                yardstick,
            )
        )
    return found
