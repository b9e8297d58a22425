"""`python -m experiments.johnstone_wilson.every_reading`: every reading on every program.

`make tables` tries all readings on P2C, and on the others the one that P2C chooses and its
neighbours. All combinations take minutes, so what they came to is kept in a file.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

import click

from experiments.johnstone_wilson.alterations import NewestFirst
from experiments.johnstone_wilson.fragmentation import NUMBERS
from experiments.johnstone_wilson.programs import GENUINE, load_traces
from experiments.johnstone_wilson.published import label
from experiments.johnstone_wilson.readings import (
    CHOSEN,
    FITTED,
    FITTED_ON,
    OPEN,
    Fitness,
    Reading,
    ReadingRun,
    fitness_of,
    is_own,
)
from experiments.johnstone_wilson.replays import Job, replay_all, replay_apart, total_events
from experiments.johnstone_wilson.variants import AS_PRINTED
from experiments.mallocs import Progress
from experiments.output import listed, print_tables, write_csv
from experiments.run import experiment, run_command
from simalloc.cli.progress import progress
from simalloc.heap import Realloc
from simalloc.report import Rounded, Table
from simalloc.report.table import Value

Rankings = Mapping[str, Mapping[Reading, Fitness]]
"""By program how near the rows come by every reading, the nearest first."""

KEPT: Final = Path(__file__).with_name("every-reading.csv")
"""What the simulations came to, a row each: `--measure` writes it."""

ROWS: Final = tuple(AS_PRINTED.policies)
_SHOWN: Final = 12
"""Rows of a program's table; more if the reading chosen on P2C comes later."""
_KEY: Final = ("program", "policy", "realloc", "frees")

READINGS: Final[Mapping[str, tuple[Reading, ...]]] = {
    **{
        program: tuple(replace(one, realloc=realloc) for realloc in Realloc for one in FITTED)
        for program in ("p2c", "espresso")
    },
    "gcc": tuple(replace(one, newest_first=newest) for newest in (False, True) for one in FITTED),
    "ghostscript": FITTED,
    "perl": tuple(replace(CHOSEN, realloc=realloc) for realloc in Realloc),
}
"""By program all combinations of what it can tell. Ghostscript has no realloc, GCC two; only GCC
has obstacks; of Perl the sequential fits are printed alike, whatever their list is."""

Measured = dict[tuple[str, ...], ReadingRun]
"""ReadingRuns by the cells of `_KEY`."""


@experiment("python -m experiments.johnstone_wilson.every_reading")
@click.option("--measure", "again", is_flag=True, help="Replay everything anew first: minutes.")
def command(*, again: bool) -> None:
    """Read Johnstone & Wilson's text in every way and say how near print each comes.

    Tables go to stdout. What the simulations came to is kept in a file of the experiment, which
    --measure writes.
    """
    if again:
        _keep(measure(jobs(GENUINE), progress))
    print_tables(tables(rankings(kept())))


def jobs(programs: Iterable[str]) -> set[Job]:
    """Return every simulation of some programs."""
    return {one.job(name, row) for name in programs for one in READINGS[name] for row in ROWS}


def measure(
    wanted: set[Job],
    progress: Progress,
) -> Measured:
    """Carry out simulations; `progress` is as in `measuring.measure`."""
    traces = load_traces()
    own = {job for job in wanted if is_own(job)}
    with progress("Simulating", total_events(wanted - own, traces)) as advance:
        runs = replay_all(wanted - own, traces, advance)
    with progress("Reading otherwise", total_events(own, traces)) as advance:
        runs |= replay_apart(own, advance)
    return {key(job): ReadingRun.of(run) for job, run in runs.items()}


def key(job: Job) -> tuple[str, ...]:
    """Return what tells a simulation from the others, without the folder of its policy."""
    frees = "newest first" if isinstance(job.alteration, NewestFirst) else "as recorded"
    return job.program, Path(job.policy).name, job.realloc.value, frees


def kept() -> Measured:
    """Return what the file has."""
    with KEPT.open(encoding="utf-8", newline="") as file:
        return {
            tuple(row[name] for name in _KEY): ReadingRun(
                float(row["heap"]),
                int(row["live"]),
                {number: float(row[f"#{number}"]) for number in NUMBERS},
            )
            for row in csv.DictReader(file)
        }


def _keep(measured: Measured) -> None:
    rows: list[tuple[Value, ...]] = [
        (*which, one.heap, one.live, *(one.percent[number] for number in NUMBERS))
        for which, one in sorted(measured.items())
    ]
    columns = (*_KEY, "heap", "live", *(f"#{number}" for number in NUMBERS))
    write_csv(Table("Every reading", columns, rows), KEPT)


def ranked(measured: Measured, program: str) -> dict[Reading, Fitness]:
    """Return how near all sixteen rows come by every reading, the nearest first.

    Nearest is who has most cells of both tables as printed, then the fewest steps apart.
    """
    found = {
        reading: fitness_of(
            program, {row: measured[key(reading.job(program, row))] for row in ROWS}
        )
        for reading in READINGS[program]
    }
    return dict(sorted(found.items(), key=lambda one: _nearness(one[1])))


def place(fits: Mapping[Reading, Fitness]) -> int:
    """Return where the reading chosen on P2C comes, equals sharing a place."""
    return 1 + sum(_nearness(one) < _nearness(fits[CHOSEN]) for one in fits.values())


def rankings(measured: Measured) -> Rankings:
    """Return how near all sixteen rows come on every program."""
    return {program: ranked(measured, program) for program in READINGS}


def places(found: Rankings) -> str:
    """Say where the reading chosen on P2C comes on every program."""
    return listed(
        [f"{place(fits)} of {len(fits)} on {label(name)}" for name, fits in found.items()]
    )


def tables(found: Rankings) -> list[Table]:
    """Return a table that sums up, and one a program."""
    return [summary(found), *(_program_table(program, fits) for program, fits in found.items())]


def summary(found: Rankings) -> Table:
    """Return a row a program: where P2C's choice comes, and what the nearest reading is."""
    rows: list[tuple[Value, ...]] = []
    for program, fits in found.items():
        nearest = next(iter(fits))
        chosen, best = fits[CHOSEN], fits[nearest]
        rows.append(
            (
                label(program),
                "fitted" if program == FITTED_ON else "tested",
                len(fits),
                place(fits),
                sum(chosen.equal.values()),
                sum(best.equal.values()),
                *chosen.taus[3].cells,
                *best.taus[3].cells,
            )
        )
    columns = (
        "program",
        "was",
        "readings",
        "place",
        "equal\nchosen",
        "equal\nnearest",
        "tau\nchosen",
        "interval\nchosen",
        "tau\nnearest",
        "interval\nnearest",
    )
    note = (
        "Place: of the reading chosen on P2C, by cells as printed, then by steps apart; equals "
        "share one. Equal: of 32 cells, sixteen of each table. Tau: by measure #3."
    )
    return Table("The reading chosen on P2C among all, sixteen rows", columns, rows, (note,))


def _nearness(fit: Fitness) -> tuple[float, float]:
    return -sum(fit.equal.values()), fit.steps


def _program_table(program: str, fits: Mapping[Reading, Fitness]) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            *reading.cells,
            reading.realloc.value,
            "newest first" if reading.newest_first else "as recorded",
            *(fit.equal[number] for number in NUMBERS),
            Rounded(fit.steps, 0),
            *(cell for number in NUMBERS for cell in fit.taus[number].cells),
        )
        for reading, fit in islice(fits.items(), max(_SHOWN, place(fits)))
    ]
    figures = [f"#{number} equal" for number in NUMBERS] + ["steps apart"]
    taus = [f"#{number} {what}" for number in NUMBERS for what in ("tau", "interval")]
    columns = (*OPEN, "realloc", "obstacks", *figures, *taus)
    title = f"{label(program)}: sixteen rows by the nearest {len(rows)} of {len(fits)} readings"
    return Table(title, columns, rows)


if __name__ == "__main__":
    sys.exit(run_command(command))
