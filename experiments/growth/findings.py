"""Results of the replays: spreads over the units, and numbers of programs with little waste."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Final

from experiments.growth.measuring import UNITS, GrowthRun, read_kept
from experiments.growth.synthetic import SYNTHETIC
from experiments.johnstone_wilson.programs import AVAILABLE

BEST: Final = "best-fit-ao"
FIRST: Final = "first-fit-ao"
PAIR: Final = (BEST, FIRST)
"""The two policies that the paper calls best."""

PAPER: Final = AVAILABLE
"""Programs of the paper for which we have traces."""


@dataclass(frozen=True)
class Spread:
    """The minimum and maximum of a trace's figures under a policy, over `UNITS`."""

    trace: str
    least: float
    most: float

    @property
    def width(self) -> float:
        """Maximum minus minimum, in percentage points."""
        return self.most - self.least


class Findings:
    """All measurements, by trace, policy and unit.

    A *figure* here is the waste beyond the waste of whole units (`GrowthRun.beyond`).
    """

    def __init__(self, outcomes: Iterable[GrowthRun]) -> None:
        self._outcomes = {(one.trace, one.policy, one.unit): one for one in outcomes}

    @classmethod
    def kept(cls) -> Findings:
        """Return the results stored in the file of the replays."""
        return cls(read_kept())

    @cached_property
    def traces(self) -> tuple[str, ...]:
        """The shipped traces, without the synthetic one."""
        names = dict.fromkeys(trace for trace, _, _ in self._outcomes)
        return tuple(name for name in names if name != SYNTHETIC)

    def outcome(self, trace: str, policy: str, unit: int) -> GrowthRun:
        """Return the result of a trace under a policy with a growth unit."""
        return self._outcomes[trace, policy, unit]

    def figure(self, trace: str, policy: str, unit: int) -> float:
        """Return the waste beyond the waste of whole units, in percentage points."""
        return self.outcome(trace, policy, unit).beyond

    def spread(self, trace: str, policy: str) -> Spread:
        """Return the minimum and the maximum of a trace's figures."""
        figures = [self.figure(trace, policy, unit) for unit in UNITS]
        return Spread(trace, min(figures), max(figures))

    def spreads(self, policy: str) -> list[Spread]:
        """Return the spread of every shipped trace."""
        return [self.spread(trace, policy) for trace in self.traces]

    def resident_spread(self, trace: str, policy: str) -> Spread:
        """Return the minimum and the maximum of a trace's resident waste, in percentage points."""
        waste = [self.outcome(trace, policy, unit).resident_waste for unit in UNITS]
        return Spread(trace, min(waste), max(waste))

    def resident_spreads(self, policy: str) -> list[Spread]:
        """Return the resident spread of every shipped trace."""
        return [self.resident_spread(trace, policy) for trace in self.traces]

    def widest(self, policy: str) -> Spread:
        """Return the spread of the trace that depends most on the unit."""
        return max(self.spreads(policy), key=lambda spread: spread.width)

    def median_figure(self, policy: str, unit: int) -> float:
        """Return the median figure over the shipped traces."""
        return median(self.figure(trace, policy, unit) for trace in self.traces)

    def within(self, policy: str, unit: int, limit: float) -> int:
        """Return the number of shipped traces whose figure is at most a limit."""
        return sum(self.figure(trace, policy, unit) <= limit for trace in self.traces)

    def worst(self, policy: str, unit: int) -> str:
        """Return the trace with the largest figure."""
        return max(self.traces, key=lambda trace: self.figure(trace, policy, unit))

    def most_on_paper(self, policy: str) -> float:
        """Return the largest figure on the paper's programs, over all units."""
        return max(self.figure(trace, policy, unit) for trace in PAPER for unit in UNITS)
