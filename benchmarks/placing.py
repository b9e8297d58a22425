"""Time of `best-possible` on the shipped traces, in turn with another version.

Times are processor time of the search alone, in one process for each trace and version. The
minimum of several is printed. The other version must be installed in a folder by pip:

    git archive COMMIT | tar x -C FOLDER
    pip install --no-build-isolation --no-deps --target FOLDER/site FOLDER
    python -m benchmarks.placing --against FOLDER/site
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import geometric_mean
from typing import Final

import click
import numpy as np

from benchmarks.command import run, say, table_option, write_json
from simalloc.report import Format, Rounded, Table, write_table
from simalloc.trace.catalogue import catalogue, find_trace

_SEARCH: Final = """
import sys, time
from simalloc.bound import Timetable, best_possible
from simalloc.trace.catalogue import load

table = Timetable.of(load(sys.argv[1]))
started = time.process_time()
height = best_possible(table).height
print(time.process_time() - started, height)
"""
_PACKAGES: Final = Path(np.__file__).parents[1]

Measured = tuple[float, int]
"""Seconds of processor time, and the height of the placement in bytes."""


@click.command()
@click.argument("traces", nargs=-1)
@click.option(
    "--against", type=click.Path(exists=True, file_okay=False), help="Folder of another version."
)
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--json", "target", metavar="FILE", help="JSON file of the figures.")
@table_option
def command(
    traces: tuple[str, ...],
    against: str | None,
    repeats: int,
    target: str | None,
    table_format: Format,
) -> None:
    """Measure the search for the lowest placement on all shipped traces, or on the given ones."""
    found: dict[str, tuple[Measured, ...]] = {}
    versions = [None] if against is None else [None, against]
    for trace in traces or catalogue():
        turns = []
        for turn in range(repeats):
            say(f"{trace}: {turn + 1} of {repeats}")
            turns.append([_measured(trace, version) for version in versions])
        found[trace] = tuple(min(each) for each in zip(*turns, strict=True))
    say("")
    columns = ["trace", "seconds of processor time", "height"]
    if against is not None:
        columns += ["other seconds", "other height", "ratio"]
    rows = [_row(trace, measured) for trace, measured in found.items()]
    notes = [] if against is None else [f"Geometric mean of the ratios: {_mean(found):.2f}."]
    write_table(Table("Lowest placements", columns, rows, notes), table_format, sys.stdout)
    if target:
        write_json(target, {"repeats": repeats, "found": found})


def _measured(trace: str, version: str | None) -> Measured:
    """Search in a separate process, with this version if `version` is None, else in that folder."""
    command = [sys.executable, "-P", "-c", _SEARCH, str(find_trace(trace).resolve())]
    settings = dict(os.environ)
    if version is not None:
        command.insert(1, "-S")  # without `site`, which adds this version
        settings["PYTHONPATH"] = f"{Path(version).resolve()}{os.pathsep}{_PACKAGES}"
    printed = subprocess.run(command, env=settings, check=True, capture_output=True, text=True)
    seconds, height = printed.stdout.split()
    return float(seconds), int(height)


def _row(trace: str, measured: tuple[Measured, ...]) -> list[str | int | float | None]:
    row: list[str | int | float | None] = [
        trace,
        *(part for seconds, height in measured for part in (Rounded(seconds, 3), height)),
    ]
    return [*row, Rounded(_ratio(measured), 2)] if len(measured) > 1 else row


def _ratio(measured: tuple[Measured, ...]) -> float:
    (own, _), (other, _) = measured
    return own / other


def _mean(found: dict[str, tuple[Measured, ...]]) -> float:
    return geometric_mean([_ratio(measured) for measured in found.values()])


if __name__ == "__main__":
    run(command)
