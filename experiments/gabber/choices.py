"""What the generated Hummingbird's figures hang on: the seed, and what was chosen freely."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

from experiments.gabber.paper import PAPER, PERCENT
from experiments.gabber.programs import HUMMINGBIRD
from experiments.gabber.runs import GabberRun, GabberRuns
from experiments.mallocs import at_hand, replay, with_mechanism
from simalloc.report import Rounded, Table
from simalloc.trace.workloads import hummingbird
from simalloc.trace.workloads.hummingbird import CHOSEN, FreeChoice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from experiments.mallocs import Progress
    from simalloc.report.table import Value
    from simalloc.trace import Trace

SHARE: Final = 20
"""The traces have this part of the events: in full each would take minutes."""

SEEDS: Final = tuple(range(1, 11))

OTHERWISE: Final[Mapping[str, FreeChoice]] = {
    "clusters live a quarter as long": replace(CHOSEN, passing=CHOSEN.passing // 4),
    "clusters live four times as long": replace(CHOSEN, passing=CHOSEN.passing * 4),
    "meta-data lives a quarter as long": replace(CHOSEN, brief=CHOSEN.brief // 4),
    "meta-data lives four times as long": replace(CHOSEN, brief=CHOSEN.brief * 4),
    "all files stay alike": replace(CHOSEN, frequent=0.25, stay=1.0),
    "a tenth of the files stays nine times the mean": replace(CHOSEN, frequent=0.1, stay=9.0),
}
"""One free choice at a time made otherwise, with seed 1."""

LONGER: Final = 5
"""A fifth of the events is replayed too, for choices show more in a longer run: under `FEW`."""

FEW: Final = ("phk", "solaris-default", "gnu-1995", "lea-2.6.6")
AS_CHOSEN: Final = "as chosen"
LIVES: Final = {
    AS_CHOSEN: CHOSEN,
    **{words: choice for words, choice in OTHERWISE.items() if not words.startswith("meta-data")},
}
"""The choices that are looked at there, with seed 1."""

_LEADER: Final = "phk"


def drawn(seed: int) -> str:
    """Return the key of the trace that a seed draws."""
    return f"{HUMMINGBIRD}, a twentieth, seed {seed}"


def chosen(words: str) -> str:
    """Return the key of the trace with one choice made otherwise."""
    return f"{HUMMINGBIRD}, a twentieth, {words}"


def longer(words: str) -> str:
    """Return the key of a fifth of the trace with a choice of `LIVES`."""
    return f"{HUMMINGBIRD}, a fifth, {words}"


def trace_of(seed: int, choice: FreeChoice = CHOSEN, share: int = SHARE) -> Trace:
    """Return a part of Hummingbird."""
    return hummingbird.hummingbird(seed, objects=hummingbird.OBJECTS // share, choice=choice)


def measure_choices(progress: Progress) -> GabberRuns:
    """Replay all of these under the paper's allocators: some minutes."""
    made = {drawn(seed): (seed, CHOSEN, SHARE) for seed in SEEDS}
    made |= {chosen(words): (SEEDS[0], choice, SHARE) for words, choice in OTHERWISE.items()}
    found = _measure(made, at_hand(PAPER), progress)
    made = {longer(words): (SEEDS[0], choice, LONGER) for words, choice in LIVES.items()}
    return found | _measure(made, FEW, progress)


def _measure(
    made: Mapping[str, tuple[int, FreeChoice, int]], names: Sequence[str], progress: Progress
) -> GabberRuns:
    """Replay each trace, given by its seed, choice and share, one at a time in memory."""
    texts = [with_mechanism(name) for name in names]
    found: GabberRuns = {}
    for key, which in made.items():
        runs = replay({key: trace_of(*which)}, texts, progress)
        found |= {one: GabberRun.of(run) for one, run in runs.items()}
    return found


def at_end(kept: GabberRuns, key: str) -> dict[str, float]:
    """Return each allocator's fragmentation at the end of a trace, percent."""
    return {name: kept[key, with_mechanism(name)].at_end for name in at_hand(PAPER)}


def in_order(kept: GabberRuns, key: str) -> int:
    """Return how many pairs of allocators are in the order of the printed table 3."""
    cells, here = PAPER.table(3).cells, at_end(kept, key)
    printed = {
        name: cells[name][PERCENT].value if PERCENT in cells[name] else float("inf")
        for name in here
    }
    return sum((printed[a] < printed[b]) == (here[a] < here[b]) for a, b in combinations(here, 2))


def rank_of_leader(kept: GabberRuns, key: str) -> int:
    """Return PhK's rank, 1 for the least fragmentation."""
    here = at_end(kept, key)
    return 1 + sum(waste < here[_LEADER] for waste in here.values())


def choices_table(kept: GabberRuns) -> Table:
    """Return print, the least and most over the seeds, and a row a choice made otherwise."""
    names = at_hand(PAPER)
    cells = PAPER.table(3).cells
    rows: list[tuple[Value, ...]] = [
        (
            "printed, in full",
            *(
                Rounded(cells[name][PERCENT].value, 1) if PERCENT in cells[name] else None
                for name in names
            ),
            None,
            None,
        )
    ]
    of_seeds = [at_end(kept, drawn(seed)) for seed in SEEDS]
    orders = [in_order(kept, drawn(seed)) for seed in SEEDS]
    leads = [rank_of_leader(kept, drawn(seed)) for seed in SEEDS]
    rows += [
        (
            f"{len(SEEDS)} seeds, {words}",
            *(Rounded(end(one[name] for one in of_seeds), 1) for name in names),
            end(orders),
            end(leads),
        )
        for words, end in (("least", min), ("most", max))
    ]
    for words in OTHERWISE:
        here, key = at_end(kept, chosen(words)), chosen(words)
        ends = (Rounded(here[name], 1) for name in names)
        rows.append((words, *ends, in_order(kept, key), rank_of_leader(kept, key)))
    columns = ("", *map(PAPER.label, names), "pairs in printed order", "PhK's rank")
    title = "Fragmentation at the end of a twentieth of Hummingbird, generated, percent"
    return Table(title, columns, rows)


def longer_table(kept: GabberRuns) -> Table:
    """Return a row a choice of `LIVES`: what a fifth of the trace comes to under `FEW`."""
    rows: list[tuple[Value, ...]] = [
        (words, *(Rounded(kept[longer(words), with_mechanism(name)].at_end, 1) for name in FEW))
        for words in LIVES
    ]
    title = "Fragmentation at the end of a fifth of Hummingbird, generated, percent"
    return Table(title, ("", *map(PAPER.label, FEW)), rows)


def spread_longer(kept: GabberRuns, name: str) -> tuple[float, float]:
    """Return the least and the most of one of `FEW` over the choices of `LIVES`."""
    values = [kept[longer(words), with_mechanism(name)].at_end for words in LIVES]
    return min(values), max(values)


def spread(kept: GabberRuns, name: str, keys: Sequence[str]) -> tuple[float, float]:
    """Return the least and the most of an allocator's figures over some traces."""
    values = [at_end(kept, key)[name] for key in keys]
    return min(values), max(values)
