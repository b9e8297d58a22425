"""Effect of chance: mallocs with random parts under several seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from experiments.mallocs import Progress
from experiments.mallocs_of_today.measuring import text_of
from simalloc.heap import simulate_all
from simalloc.policy import CATALOGUE
from simalloc.trace.catalogue import open_source

PROGRAMS: Final = ("espresso", "gcc", "perl", "make", "mutool", "git")
SEEDS: Final = 10
RANDOM: Final = ("jemalloc", "scudo", "mimalloc")


@dataclass(frozen=True)
class Seeded:
    """One program: each malloc's smallest and largest resident peak over the seeds, relative.

    A ratio is relative to the peak with the malloc's own seed. `mapped` is the maximum relative
    difference of a mapped peak from the mapped peak with the malloc's own seed.
    """

    program: str
    ranges: dict[str, tuple[float, float]]
    mapped: float


def seeds(progress: Progress) -> list[Seeded]:
    """Replay some small programs with several seeds."""
    given = {malloc: [text_of(malloc), *_seeded(malloc)] for malloc in RANDOM}
    policies = [text for texts in given.values() for text in texts]
    found = []
    for program in PROGRAMS:
        source = open_source(program)
        with progress(f"{program}, seeds", len(source) * len(policies)) as advance:
            runs = simulate_all(source, policies, scale=1, resident=True, progress=advance)
        peaks = np.array([cast("Any", run.resident).peak_bytes for run in runs])
        ranges = {
            malloc: (float(some.min() / some[0]), float(some.max() / some[0]))
            for malloc, some in zip(given, peaks.reshape(len(given), -1), strict=True)
        }
        heaps = np.array([run.peak_heap_bytes for run in runs])
        several = heaps.reshape(len(given), -1)
        mapped = float(np.abs(several / several[:, :1] - 1).max())
        found.append(Seeded(program, ranges, mapped))
    return found


def _seeded(malloc: str) -> Sequence[str]:
    """Return the malloc's texts with other seeds; jemalloc's and mimalloc's seeds are addresses."""
    numbers = range(1, SEEDS + 1)
    if malloc == "scudo":
        return [f"{text_of(malloc)},seed={1 + number}" for number in numbers]
    if malloc == "mimalloc":
        places = [((3 << 40) + (997 * number << 28), 25 * number << 20) for number in numbers]
        return [f"{text_of(malloc)},base={base},hint_delta={by}" for base, by in places]
    own = cast("Any", CATALOGUE[malloc].description).seeds()
    return [
        f"{text_of(malloc)},seed={thread},dirty_seed={dirty},muzzy_seed={muzzy}"
        for thread, dirty, muzzy in (
            [seed - (977 * number << 12) for seed in own] for number in numbers
        )
    ]
