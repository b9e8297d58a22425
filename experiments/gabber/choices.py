"""Choices that determine the generated Hummingbird's figures: the seed, and free choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from experiments.gabber.paper import PAPER, PERCENT
from experiments.gabber.programs import HUMMINGBIRD
from experiments.gabber.runs import GabberRun, GabberRuns
from experiments.mallocs import Progress, at_hand, replay, with_mechanism
from simalloc.report import Rounded, Table
from simalloc.report.table import Value
from simalloc.trace import Trace
from simalloc.trace.workloads import hummingbird
from simalloc.trace.workloads.hummingbird import CHOSEN, FreeChoice
from simalloc.trace.workloads.provenance import SEED

OTHERWISE: Final[Mapping[str, FreeChoice]] = {
    "clusters live a quarter as long": replace(CHOSEN, passing=CHOSEN.passing // 4),
    "clusters live four times as long": replace(CHOSEN, passing=CHOSEN.passing * 4),
    "meta-data lives a quarter as long": replace(CHOSEN, brief=CHOSEN.brief // 4),
    "meta-data lives four times as long": replace(CHOSEN, brief=CHOSEN.brief * 4),
    "all files stay equally long": replace(CHOSEN, frequent=0.25, stay=1.0),
    "a tenth of the files stays nine times as long as the mean": replace(
        CHOSEN, frequent=0.1, stay=9.0
    ),
}
"""Alternatives to the free choices; each alternative changes one choice."""

_LEADER: Final = "phk"


@dataclass(frozen=True)
class Draws:
    """Hummingbird traces of one length: one per seed, and with the first seed one per choice."""

    length: str
    share: int
    """Divisor of the number of events; the traces have 1 / `share` of the whole."""
    seeds: tuple[int, ...]
    choices: tuple[str, ...]
    """Keys of `OTHERWISE` that are replayed."""

    def seeded(self, seed: int) -> str:
        """Return the key of the trace that a seed draws."""
        return f"{HUMMINGBIRD}, {self.length}, seed {seed}"

    def chosen(self, words: str) -> str:
        """Return the key of the trace with one alternative choice."""
        return f"{HUMMINGBIRD}, {self.length}, {words}"

    def keys(self) -> dict[str, list[str]]:
        """Return the keys of the traces by seed, and of the traces by choice, the default first."""
        choices = [self.seeded(self.seeds[0]), *map(self.chosen, self.choices)]
        return {"seeds": [*map(self.seeded, self.seeds)], "choices": choices}

    def made(self) -> dict[str, tuple[int, FreeChoice]]:
        """Return the seed and the free choices of every trace, by its key."""
        made = {self.seeded(seed): (seed, CHOSEN) for seed in self.seeds}
        first = self.seeds[0]
        return made | {self.chosen(words): (first, OTHERWISE[words]) for words in self.choices}

    def trace(self, seed: int, choice: FreeChoice = CHOSEN) -> Trace:
        """Generate a trace by its seed and free choices."""
        return hummingbird.hummingbird(
            seed, objects=hummingbird.OBJECTS // self.share, choice=choice
        )


TWENTIETH: Final = Draws("a twentieth", 20, tuple(range(1, 11)), tuple(OTHERWISE))
WHOLE: Final = Draws(
    "in full",
    1,
    (1, 2, 3),
    tuple(words for words in OTHERWISE if not words.startswith("meta-data")),
)
"""Traces in full. There are few because each takes minutes; the tables use the first seed."""

DRAWS: Final = {"twentieth": TWENTIETH, "full": WHOLE}


def measure_choices(draws: Draws, progress: Progress) -> Iterator[GabberRuns]:
    """Replay traces under the paper's allocators, one at a time, and yield the results."""
    texts = [with_mechanism(name) for name in at_hand(PAPER)]
    for key, which in draws.made().items():
        if key != WHOLE.seeded(SEED):
            runs = replay({key: draws.trace(*which)}, texts, progress)
            yield {one: GabberRun.of(run) for one, run in runs.items()}


def whole_by_first_seed(full: GabberRuns) -> GabberRuns:
    """Return the outcomes of the trace in full, as the first seed's of `WHOLE`."""
    return {
        (WHOLE.seeded(SEED), text): outcome
        for (key, text), outcome in full.items()
        if key == HUMMINGBIRD
    }


def at_end(kept: GabberRuns, key: str) -> dict[str, float]:
    """Return each allocator's fragmentation at the end of a trace, percent."""
    return {name: kept[key, with_mechanism(name)].at_end for name in at_hand(PAPER)}


def in_order(kept: GabberRuns, key: str) -> int:
    """Return the number of pairs of allocators that are in the order of the printed table 3."""
    cells, here = PAPER.table(3).cells, at_end(kept, key)
    printed = {
        name: cells[name][PERCENT].value if PERCENT in cells[name] else float("inf")
        for name in here
    }
    return sum((printed[a] < printed[b]) == (here[a] < here[b]) for a, b in combinations(here, 2))


def rank_of_leader(kept: GabberRuns, key: str) -> int:
    """Return PhK's rank, 1 for the lowest fragmentation."""
    here = at_end(kept, key)
    return 1 + sum(waste < here[_LEADER] for waste in here.values())


def choices_table(kept: GabberRuns, draws: Draws) -> Table:
    """Return print, the minimum and maximum over the seeds, and one row per alternative choice."""
    names = at_hand(PAPER)
    cells = PAPER.table(3).cells
    printed = [cells[name].get(PERCENT) for name in names]
    values: list[Value] = [None if one is None else Rounded(one.value, 1) for one in printed]
    rows: list[tuple[Value, ...]] = [("printed, in full", *values, None, None)]
    of_seeds = [_row(kept, draws.seeded(seed)) for seed in draws.seeds]
    rows += [
        (f"{len(draws.seeds)} seeds, {words}", *_spelled([*map(end, *of_seeds)]))
        for words, end in (("minimum", min), ("maximum", max))
    ]
    rows += [(words, *_spelled(_row(kept, draws.chosen(words)))) for words in draws.choices]
    columns = ("", *map(PAPER.label, names), "pairs in printed order", "PhK's rank")
    part = "Hummingbird in full" if draws.share == 1 else f"{draws.length} of Hummingbird"
    return Table(f"Fragmentation at the end of {part}, generated, percent", columns, rows)


def _row(kept: GabberRuns, key: str) -> list[float]:
    """Return each allocator's fragmentation, the pairs in printed order, and PhK's rank."""
    return [*at_end(kept, key).values(), in_order(kept, key), rank_of_leader(kept, key)]


def _spelled(row: Sequence[float]) -> list[Value]:
    return [*(Rounded(waste, 1) for waste in row[:-2]), *map(int, row[-2:])]


def spread(kept: GabberRuns, name: str, keys: Sequence[str]) -> tuple[float, float]:
    """Return the minimum and the maximum of an allocator's figures over some traces."""
    values = [at_end(kept, key)[name] for key in keys]
    return min(values), max(values)
