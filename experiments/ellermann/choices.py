"""Free choices in the paper's program, and their effect on first fit's and next fit's searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Final

import numpy as np

from simalloc.heap import simulate
from simalloc.report import Rounded, Table
from simalloc.report.table import Value
from simalloc.trace import Trace
from simalloc.trace.workloads.lives import trace_of_lives
from simalloc.trace.workloads.synthetic import ELLERMANN_OBJECTS, ELLERMANN_RATE

SMALL: Final = (8, 512)
LARGE: Final = (512, 8096)
"""Minimum and maximum size of the objects of one workload, in bytes, as the paper prints them."""
SHORTEST: Final = 1
LONGEST: Final = 3
"""Maximum lifetime in seconds, as the paper prints it."""


@dataclass(frozen=True)
class Choice:
    """One way to draw a workload: allocations per second, the distribution of sizes, and seeds."""

    rate: float
    sizes: str = "uniform"
    seeds: tuple[int, ...] = (1,)
    span: tuple[int, int] = SMALL

    def trace(self, seed: int) -> Trace:
        """Return the workload for a seed."""
        generator = np.random.default_rng(seed)
        if self.sizes == "uniform":
            size = generator.integers(*self.span, ELLERMANN_OBJECTS, endpoint=True)
        else:
            least, most = map(log2, self.span)
            drawn = generator.uniform(least, most, ELLERMANN_OBJECTS)
            size = np.rint(2**drawn).astype(np.int64)
        seconds = generator.uniform(SHORTEST, LONGEST, ELLERMANN_OBJECTS)
        deaths = np.arange(ELLERMANN_OBJECTS) + np.rint(seconds * self.rate).astype(np.int64)
        return trace_of_lives(
            size,
            np.minimum(deaths, ELLERMANN_OBJECTS),
            name="ellermann, drawn otherwise",
            provenance={"kind": "synthetic", "seed": seed},
        )


RATES: Final = tuple(round(ELLERMANN_RATE * factor) for factor in (0.1, 1, 10))
SEEDS: Final = tuple(range(1, 6))
_DRAWN: Final = ("uniform", "log-uniform")

EVEN, LOGARITHMIC = (tuple(Choice(rate, sizes) for rate in RATES) for sizes in _DRAWN)
SEEDED: Final = tuple(Choice(RATES[1], sizes, SEEDS) for sizes in _DRAWN)
OF_LARGE: Final = tuple(Choice(RATES[1], sizes, span=LARGE) for sizes in _DRAWN)
CHOICES: Final = (*EVEN, *LOGARITHMIC, *SEEDED, *OF_LARGE)

Walks = dict[tuple[Choice, int, str], float]
"""Blocks that an allocation and a free visit in total, by choice, seed and policy."""


def measure_choices(policies: Sequence[str], advance: Callable[[float], None]) -> Walks:
    """Replay the workloads of all choices."""
    found: Walks = {}
    for choice in CHOICES:
        for seed in choice.seeds:
            trace = choice.trace(seed)
            for text in policies:
                run = simulate(trace, f"{text}:count_frees=on", scale=1, progress=advance)
                counters = run.counters
                found[choice, seed, text] = counters.visited_mean + counters.visited_at_free_mean
    return found


def total_events() -> int:
    """Return the approximate number of events that a policy replays for all choices."""
    return sum(2 * ELLERMANN_OBJECTS * len(choice.seeds) for choice in CHOICES)


def gains(walks: Mapping[tuple[Choice, int, str], float], choice: Choice) -> list[float]:
    """Return, for each seed, the ratio of first fit's to next fit's visited blocks."""
    first, following = dict.fromkeys(text for _, _, text in walks)
    return [walks[choice, seed, first] / walks[choice, seed, following] for seed in choice.seeds]


def choices_table(walks: Walks, nanoseconds: float, printed_us: float) -> Table:
    """Return one row per choice: visits of first and next fit, and the cost of the difference.

    A visit of a block is assumed to take `nanoseconds`. `printed_us` is the printed time of an
    allocation of a small size, in microseconds. With more than one seed, cells show minimum and
    maximum.
    """
    first, following = dict.fromkeys(text for _, _, text in walks)
    rows: list[tuple[Value, ...]] = []
    for choice in CHOICES:
        pairs = [(walks[choice, s, first], walks[choice, s, following]) for s in choice.seeds]
        shares = [100 * (a - b) * nanoseconds / 1000 / printed_us for a, b in pairs]
        rows.append(
            (
                "{} to {:,}".format(*choice.span),
                Rounded(choice.rate, 0),
                choice.sizes,
                len(choice.seeds),
                _spread([pair[0] for pair in pairs], 0),
                _spread([pair[1] for pair in pairs], 0),
                _spread(gains(walks, choice), 2),
                _spread(shares, 1) if choice.span == SMALL else None,
            )
        )
    columns = (
        "bytes",
        "allocations a second",
        "sizes drawn",
        "seeds",
        "first fit, blocks",
        "next fit, blocks",
        "gain",
        "difference, % of the printed time",
    )
    return Table("Choices that the paper leaves open", columns, rows)


def _spread(values: Sequence[float], digits: int) -> str:
    ends = dict.fromkeys(f"{value:,.{digits}f}" for value in (min(values), max(values)))
    return " to ".join(ends)
