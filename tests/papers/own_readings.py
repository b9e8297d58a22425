"""Readings of Johnstone & Wilson's text that only a policy in Python has: what their replays gave.

Replaying all of them takes minutes. `test_johnstone_wilson_readings` replays some.
"""

import csv
from pathlib import Path

from experiments.johnstone_wilson.alterations import NewestFirst
from experiments.johnstone_wilson.fragmentation import NUMBERS
from experiments.johnstone_wilson.readings import OWN_JOBS, ReadingRun

KEPT = Path(__file__).parents[1] / "data" / "papers" / "johnstone_wilson_readings.csv"
KEY = ("program", "policy", "realloc", "frees")


def key(job):
    """Return the cells that tell a simulation from the others."""
    frees = "newest first" if isinstance(job.alteration, NewestFirst) else "as recorded"
    return job.program, Path(job.policy).name, job.realloc.value, frees


def kept():
    """Return the file's result of each simulation."""
    with KEPT.open(encoding="utf-8", newline="") as file:
        rows = {tuple(row[name] for name in KEY): row for row in csv.DictReader(file)}
    assert rows.keys() == {key(job) for job in OWN_JOBS}
    return {job: _run_of(rows[key(job)]) for job in OWN_JOBS}


def _run_of(row):
    percent = {number: float(row[f"#{number}"]) for number in NUMBERS}
    return ReadingRun(float(row["heap"]), int(row["live"]), percent)
