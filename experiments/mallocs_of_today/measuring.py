"""Every shipped trace under models of today's mallocs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from experiments.mallocs import Progress
from experiments.shipped import shipped
from simalloc.heap import Footprint, Run, simulate_all
from simalloc.heap.run_options import PAGE
from simalloc.policy import CATALOGUE
from simalloc.trace.catalogue import open_source

TICK: Final = 1000
"""Nanoseconds by which the clock advances per event, because the shipped traces have no times."""

MALLOCS: Final = tuple(
    name
    for name in ("ptmalloc", "jemalloc", "tcmalloc", "mimalloc", "scudo", "musl")
    if name in CATALOGUE
)
"""Today's mallocs that have models."""

YARDSTICK: Final = "first-fit-ao"
"""Johnstone & Wilson's recommended policy, which is measured without mechanism only."""

BEST: Final = "best-possible"
"""Offline placement in one range of addresses; its resident pages are unknown."""

HUGE: Final = "mimalloc, huge pages"
"""mimalloc with its default, 2 MiB pages, which no other model uses."""

WHOLE: Final = (*MALLOCS, HUGE)
"""Policies measured with their mechanism."""

ALONE: Final = (BEST, YARDSTICK, *MALLOCS)
"""Policies measured without mechanism."""

_LARGE: Final = 1 << 20
_CLOCKED: Final = ("jemalloc", "mimalloc", "scudo")


def resident_of(run: Run) -> Footprint:
    """Return the resident bytes of a run, with the static data of the malloc's library.

    A heap that is one range and only grows is resident as a whole.
    """
    resident, library = run.resident or run.mapped, run.policy.description.library_bytes
    return replace(
        resident,
        peak_bytes=resident.peak_bytes + library,
        bytes_at_max_live=resident.bytes_at_max_live + library,
        mean_bytes=resident.mean_bytes + library,
        final_bytes=resident.final_bytes + library,
    )


@dataclass(frozen=True)
class Measured:
    """One trace: each malloc's run by its name, with mechanism and for the policy alone."""

    program: str
    mean_live: float
    whole: dict[str, Run]
    alone: dict[str, Run]

    @property
    def live(self) -> int:
        """Peak live bytes."""
        return self.alone[YARDSTICK].max_live_bytes

    @property
    def is_large(self) -> bool:
        """True if the program shows a malloc's policy instead of only its first pages."""
        return self.live >= _LARGE

    @property
    def final_live(self) -> int:
        """Live bytes after the last event."""
        return self.alone[YARDSTICK].final_live_bytes

    def resident(self, malloc: str) -> Footprint:
        """Return the resident bytes with mechanism, including the library's static data."""
        return resident_of(self.whole[malloc])

    def peak(self, malloc: str) -> float:
        """Return the peak of resident bytes over the peak live bytes, minus 1."""
        return self.resident(malloc).peak_bytes / self.live - 1

    def pages_peak(self, malloc: str) -> float:
        """Return the peak of occupied pages with mechanism over the peak live bytes, minus 1."""
        return self.whole[malloc].occupied[PAGE].peak_bytes / self.live - 1

    def returned(self, malloc: str) -> float:
        """Return the resident bytes returned between peak and end, over the peak live bytes."""
        resident = self.resident(malloc)
        return (resident.peak_bytes - resident.final_bytes) / self.live

    def policy_alone(self, policy: str) -> float:
        """Return the peak of occupied pages without mechanism over the peak live bytes, minus 1."""
        return self.alone[policy].occupied[PAGE].peak_bytes / self.live - 1


def text_of(malloc: str, *, mechanism: bool = True) -> str:
    """Return the policy text of a malloc."""
    if malloc in (YARDSTICK, BEST):
        return malloc
    name = "mimalloc" if malloc == HUGE else malloc
    clock = f",tick={TICK}" if name in _CLOCKED else ""
    pages = ",allow_thp=0" if malloc == "mimalloc" else ""
    return f"{name}:mechanism={'on' if mechanism else 'off'}{clock}{pages}"


def replays(progress: Progress) -> list[Measured]:
    """Replay every shipped trace under each malloc, with and without its mechanism."""
    found = []
    policies = [text_of(malloc) for malloc in WHOLE]
    policies += [text_of(policy, mechanism=False) for policy in ALONE]
    for name in shipped():
        source = open_source(name).in_memory()
        with progress(name, len(source) * len(policies)) as advance:
            runs = simulate_all(
                source, policies, scale=1, resident=True, occupied=[PAGE], progress=advance
            )
        found.append(
            Measured(
                name,
                float(source.replayed.live.mean()),
                dict(zip(WHOLE, runs, strict=False)),
                dict(zip(ALONE, runs[len(WHOLE) :], strict=True)),
            )
        )
    return found
