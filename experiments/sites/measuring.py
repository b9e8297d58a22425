"""Measurements of the heaps of programs that were recorded twice, with different inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from docs.examples.site_policies import LifetimeArenas, TwoEnds
from experiments.bounds.knowing import knowing, long_lived
from experiments.mallocs import Progress
from experiments.sites.fixing import Fix, fixes
from simalloc.bound import best_possible
from simalloc.heap import simulate
from simalloc.measure.sites.lifetimes import Key, predicted_young
from simalloc.policy import AnyPolicy
from simalloc.trace.catalogue import load
from simalloc.trace.statistics import lives_of

RECORDINGS: Final = Path(__file__).with_name("recordings")
PROGRAMS: Final = ("git", "jq", "perl", "python", "sqlite")
BEST_FIT: Final = "best fit"
ENDS: Final[tuple[Key, ...]] = ("size", "site", "stack")
TRUTH: Final = "the truth"
"""Label of the two-ended best fit that receives the true class of each object's lifetime."""
ARENAS: Final = "arenas"
BEST: Final = "best possible"


@dataclass(frozen=True)
class Heaps:
    """Peak heaps of one recording in bytes, by knowledge; all policies but one have learned.

    They learned from `training`, the other recording of the same program.
    """

    name: str
    training: str
    live: int
    heaps: Mapping[str, int]
    young: float
    """Share of the allocated bytes that die young according to `LifetimeArenas`."""
    found: Mapping[str, float]
    """Predicted share of the bytes that die young, by size, site and stack."""
    wrong: Mapping[str, float]
    """Share of the bytes predicted to die young that lived longer."""

    def excess(self, what: str) -> float:
        """Return the excess of a heap over peak live, as a share of peak live."""
        return self.heaps[what] / self.live - 1

    def gained(self, what: str) -> float | None:
        """Return the achieved share of best fit's possible saving, or None if no saving exists."""
        room = self.heaps[BEST_FIT] - self.heaps[BEST]
        return (self.heaps[BEST_FIT] - self.heaps[what]) / room if room else None


class Measured(NamedTuple):
    """Heaps of all recordings, and the effects of a fix in the program, by language and run."""

    heaps: list[Heaps]
    fixes: list[list[Fix]]


def measured(progress: Progress) -> Measured:
    """Measure every recording, with training on the program's other recording, and the fix."""
    found = []
    with progress("recordings", 2 * len(PROGRAMS)) as advance:
        for program in PROGRAMS:
            for one, other in (("a", "b"), ("b", "a")):
                found.append(heaps_of(f"{program}-{one}", f"{program}-{other}"))
                advance(1)
    return Measured(found, fixes())


def heaps_of(name: str, training: str) -> Heaps:
    """Measure a recording, with training on another one."""
    trace, learned = load(str(path_of(name))), str(path_of(training))
    policies: dict[str, AnyPolicy] = {
        BEST_FIT: "best-fit-ao:growth=1",
        **{by: TwoEnds(growth=1, training=learned, by=by) for by in ENDS},
        TRUTH: knowing(long_lived(trace)),
        ARENAS: LifetimeArenas(growth=1, training=learned, by="stack"),
    }
    runs = {what: simulate(trace, policy, scale=1) for what, policy in policies.items()}
    heaps = {what: int(run.peak_heap_bytes) for what, run in runs.items()}
    lives = lives_of(trace)
    size = trace.size[lives.born].astype(np.float64)
    young = (lives.lifetime < LifetimeArenas.age) & lives.freed
    found: dict[str, float] = {}
    wrong: dict[str, float] = {}
    for by in ENDS:
        predicted = predicted_young(load(learned), trace, by, LifetimeArenas.age)[lives.born]
        found[by] = float(size[predicted & young].sum() / max(size[young].sum(), 1))
        wrong[by] = float(size[predicted & ~young].sum() / max(size[predicted].sum(), 1))
    return Heaps(
        name=name,
        training=training,
        live=runs[BEST_FIT].max_live_bytes,
        heaps=heaps | {BEST: best_possible(trace).height},
        young=float(size[young].sum() / size.sum()),
        found=found,
        wrong=wrong,
    )


def path_of(name: str) -> Path:
    """Return the file of a recording."""
    return RECORDINGS / f"{name}.npz"
