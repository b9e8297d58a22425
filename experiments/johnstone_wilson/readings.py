"""The sensitivity matrix: every choice that the paper leaves open, fitted on P2C, tested elsewhere.

The paper gives the fit and the order of the list of the sequential fits. Open are the end of a
split block that is allocated, the place of the remainder, whether next fit's rover moves past it,
and whether a free block at the end of the heap counts towards a growth. All sixteen combinations
are replayed on P2C, with the bytes that its trace lacks (`pinned`), and the nearest to print is
chosen. Then the other programs are replayed with that reading, and with one choice at a time made
otherwise. P2C has three reallocs and no obstacks, so it does not decide the rule for a realloc and
the order in which the objects of an obstack are freed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import median
from typing import Final

from experiments.johnstone_wilson.alterations import NewestFirst
from experiments.johnstone_wilson.fragmentation import NUMBERS, Runs
from experiments.johnstone_wilson.growth_unit import PRINTED, ROWS_8K, SEQUENTIAL
from experiments.johnstone_wilson.heaps import printed_heap
from experiments.johnstone_wilson.pinned import HOW, equals_print
from experiments.johnstone_wilson.programs import GENUINE
from experiments.johnstone_wilson.published import label, table
from experiments.johnstone_wilson.rank_order import Tau, tau_of
from experiments.johnstone_wilson.replays import Job, percent
from experiments.johnstone_wilson.variants import AS_PRINTED
from simalloc.heap import Realloc, Run
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

FITTED_ON: Final = "p2c"
TESTED_ON: Final = tuple(program for program in GENUINE if program != FITTED_ON)
_POLICY: Final = Path(__file__).with_name("sequential_fit.py")


@dataclass(frozen=True)
class Reading:
    """One way to read the sequential fits; as it stands, the catalogue's.

    `enters` is for first and best fit, `past` for next fit, whose list is a circle: a remainder
    that inserted again stays where it was there, and only the rover goes past it.
    """

    high: bool = False
    enters: bool = False
    past: bool = False
    tail: bool = True
    realloc: Realloc = Realloc.FREE_FIRST
    newest_first: bool = False

    def job(self, program: str, row: str) -> Job:
        """Return the simulation of a row, at the pinned live bytes if our trace lacks any.

        The catalogue's policies are used if they suffice, because they are faster. In a list by
        address that is searched from its beginning a remainder has one place only. Rows other than
        sequential fits have no other readings.
        """
        text = AS_PRINTED.policies[row]
        fit, by, order, *_ = row.split("-") if row in (*SEQUENTIAL, *ROWS_8K) else ("", "", "")
        enters = self.past if fit == "next" else self.enters and order != "ao"
        if by == "fit" and (self.high, enters, self.tail) != (False, False, True):
            parts = {"high": self.high, "enters": enters, "tail": self.tail}
            switches = ",".join(f"{name}={'on' if on else 'off'}" for name, on in parts.items())
            growth = "8K" if row in ROWS_8K else "64K"
            text = f"{_POLICY}:SequentialFit:fit={fit},order={order},growth={growth},{switches}"
        alteration = NewestFirst() if self.newest_first else HOW["one"].get(program)
        return Job(program, text, self.realloc, alteration)

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The four choices that are fitted, in words."""
        return (
            "high" if self.high else "low",
            "inserted again" if self.enters else "stays",
            "past it" if self.past else "on it",
            "counted" if self.tail else "not counted",
        )


OPEN: Final = ("split end", "remainder", "rover", "tail")
"""Heading of `Reading.cells`."""

FITTED: Final = tuple(
    Reading(high, enters, past, tail)
    for high, enters, past, tail in product(*[(False, True)] * 3, (True, False))
)
CHOSEN: Final = Reading()
"""The reading of the catalogue, which is the one that comes out nearest on P2C."""

CHANGES: Final[Mapping[str, Reading]] = {
    "chosen on P2C": CHOSEN,
    "high end of a split block": replace(CHOSEN, high=True),
    "remainder inserted again": replace(CHOSEN, enters=True),
    "rover past the remainder": replace(CHOSEN, past=True),
    "tail not counted": replace(CHOSEN, tail=False),
    "realloc allocates first": replace(CHOSEN, realloc=Realloc.MOVE),
    "realloc in place if it can": replace(CHOSEN, realloc=Realloc.IN_PLACE),
    "obstacks freed newest first": replace(CHOSEN, newest_first=True),
}
_TOLD_APART: Final = tuple(program for program in TESTED_ON if program != "perl")
ONLY_ON: Final = {
    "high end of a split block": _TOLD_APART,
    "remainder inserted again": _TOLD_APART,
    "rover past the remainder": _TOLD_APART,
    "tail not counted": _TOLD_APART,
    "realloc allocates first": ("espresso", "perl"),
    "realloc in place if it can": ("espresso", "perl"),
    "obstacks freed newest first": ("gcc",),
}
"""The programs that can tell a change: of Perl the nine rows are printed alike."""

_ALL: Final = frozenset(
    (
        *(reading.job(FITTED_ON, row) for reading in FITTED for row in SEQUENTIAL),
        *(
            reading.job(program, row)
            for name, reading in CHANGES.items()
            for program in ONLY_ON.get(name, TESTED_ON)
            for row in SEQUENTIAL
        ),
    )
)


def is_own(job: Job) -> bool:
    """Tell whether a job's policy is in Python."""
    return job.policy.startswith(str(_POLICY))


OWN_JOBS: Final = frozenset(filter(is_own, _ALL))
JOBS: Final = _ALL - OWN_JOBS


@dataclass(frozen=True)
class ReadingRun:
    """Result of a simulation: bytes at the peaks, and measures #3 and #4 in percent."""

    heap: float
    live: int
    percent: Mapping[int, float]

    @classmethod
    def of(cls, run: Run) -> ReadingRun:
        """Return the result of a run."""
        return cls(run.peak_heap_bytes, run.max_live_bytes, {n: percent(run, n) for n in NUMBERS})


ReadingRuns = dict[Job, ReadingRun]


def outcomes(runs: Runs) -> ReadingRuns:
    """Return the results of simulations."""
    return {job: ReadingRun.of(run) for job, run in runs.items()}


@dataclass(frozen=True)
class Fitness:
    """Differences of some rows from print on one program, by one reading.

    `equal` counts cells that equal print, by table. `steps` adds up the growth steps by which the
    waste (heap minus peak live bytes) differs; `distances` are medians over the rows in points of
    percent, and `taus` describe the order, both by table.
    """

    equal: Mapping[int, int]
    steps: float
    distances: Mapping[int, float]
    taus: Mapping[int, Tau]


def fitness(program: str, reading: Reading, read: ReadingRuns) -> Fitness:
    """Return the fitness of a reading for the nine sequential fits."""
    return fitness_of(program, {row: read[reading.job(program, row)] for row in SEQUENTIAL})


def fitness_of(program: str, measured: Mapping[str, ReadingRun]) -> Fitness:
    """Return the fitness of the measured rows."""
    values = {n: {row: one.percent[n] for row, one in measured.items()} for n in NUMBERS}
    printed = {n: {row: table(n).cells[row][program].value for row in measured} for n in NUMBERS}
    return Fitness(
        {
            n: sum(equals_print(values[n][row], n, row, program) for row in measured)
            for n in NUMBERS
        },
        sum(_steps_apart(program, row, one) for row, one in measured.items()),
        {n: median(abs(values[n][row] - printed[n][row]) for row in measured) for n in NUMBERS},
        {n: tau_of(printed[n], values[n]) for n in NUMBERS},
    )


def fits(read: ReadingRuns) -> dict[Reading, Fitness]:
    """Return the fitness on P2C of all sixteen readings, the nearest first.

    Nearest is who has most cells of both tables as printed, then the fewest steps apart.
    """
    found = {reading: fitness(FITTED_ON, reading, read) for reading in FITTED}
    return dict(sorted(found.items(), key=lambda one: (-sum(one[1].equal.values()), one[1].steps)))


def fitted_table(read: ReadingRuns) -> Table:
    """Return a row a reading: how near it comes on P2C."""
    rows = [(*reading.cells, *_figures(fit)) for reading, fit in fits(read).items()]
    columns = (*OPEN, *_COLUMNS)
    return Table(
        f"Sixteen combinations for the nine sequential fits on {label(FITTED_ON)}", columns, rows
    )


def tested_table(read: ReadingRuns) -> Table:
    """Return a row a program and change: the chosen reading, and one thing otherwise."""
    rows: list[tuple[Value, ...]] = [
        (label(program), name, *_figures(fitness(program, reading, read)))
        for program in TESTED_ON
        for name, reading in CHANGES.items()
        if program in ONLY_ON.get(name, TESTED_ON)
    ]
    note = (
        "Equal: of nine cells each. Steps apart: growth steps of 4,096 bytes by which heap less "
        "peak live bytes differs from print, added up over the nine rows. Median: of the distance "
        "from print, in points. Tau: pairs in the printed order less reversed pairs, over the "
        "pairs that differ in table 3, and its 95 % interval over samples of the rows."
    )
    title = "The combination chosen on P2C, and one rule varied, on the other genuine programs"
    return Table(title, ("program", "reading", *_COLUMNS), rows, (note,))


_COLUMNS: Final = (
    "#3 equal",
    "#4 equal",
    "steps apart",
    "#3 median",
    "#4 median",
    "tau",
    "interval",
)


def _figures(fit: Fitness) -> tuple[Value, ...]:
    return (
        *(fit.equal[n] for n in NUMBERS),
        Rounded(fit.steps, 0),
        *(Rounded(fit.distances[n], 2) for n in NUMBERS),
        *fit.taus[3].cells,
    )


def _steps_apart(program: str, row: str, measured: ReadingRun) -> float:
    """Return the difference of the waste from the paper's run in growth steps."""
    live = printed_heap(program, row).middle / (1 + table(4).cells[row][program].value / 100)
    printed = printed_heap(program, row).middle - live
    return abs(measured.heap - measured.live - printed) / PRINTED
