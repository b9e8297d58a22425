"""Results of simulations, reduced to the values that the tables need and stored in files."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

from simalloc.heap import Run
from simalloc.report import Table

FULL: Final = Path(__file__).with_name("full.csv")
"""Stored results on the full traces, which take minutes: `python -m experiments.gabber --full`.

A trace and policy that the file does not contain was not replayed."""

QUICK: Final = FULL.with_name("quick.csv")
"""Stored results on a tenth of the generated and on the recorded traces: `--measure`."""

CHOICES: Final = FULL.with_name("choices.csv")
"""Stored results on a twentieth of Hummingbird, by seeds and free choices: `--choices`."""

FIT_COLUMNS: Final = ("trace", "figure", "printed", "generated")

FULL_FIT: Final = FULL.with_name("full-fit.csv")
"""Stored differences of the full traces from the prose, from the run that writes `FULL`."""


@dataclass(frozen=True)
class GabberRun:
    """One trace under one policy, in bytes; `visited` is the mean number of blocks per search."""

    events: int
    peak_heap: float
    final_heap: float
    peak_live: int
    final_live: int
    visited_mean: float
    visited_worst: int
    seconds: float
    """Duration of the simulation in seconds, on the machine that ran it."""

    @classmethod
    def of(cls, run: Run) -> GabberRun:
        """Return the result of a run."""
        return cls(
            run.events,
            run.peak_heap_bytes,
            run.final_heap_bytes,
            run.max_live_bytes,
            run.final_live_bytes,
            run.counters.visited_mean,
            run.counters.visited_worst,
            round(run.seconds, 1),
        )

    @property
    def at_end(self) -> float:
        """Fragmentation at the end of the trace in percent, as the paper computes it.

        This is 100 * (heap / live - 1) after the last event.
        """
        return 100 * (self.final_heap / self.final_live - 1)


GabberRuns = dict[tuple[str, str], GabberRun]
"""Results by the trace's key and the policy's text."""


def outcomes_table(outcomes: Mapping[tuple[str, str], GabberRun]) -> Table:
    """Return outcomes as a table with one row per run, which `read_outcomes` can read."""
    names = [part.name for part in fields(GabberRun)]
    rows = [
        (*which, *(getattr(outcome, name) for name in names)) for which, outcome in outcomes.items()
    ]
    return Table("GabberRuns", ("trace", "policy", *names), rows)


def read_outcomes(path: Path) -> GabberRuns:
    """Return the stored outcomes, or an empty dict if the file does not exist."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["trace"], row["policy"]): GabberRun(
                int(row["events"]),
                float(row["peak_heap"]),
                float(row["final_heap"]),
                int(row["peak_live"]),
                int(row["final_live"]),
                float(row["visited_mean"]),
                int(row["visited_worst"]),
                float(row["seconds"]),
            )
            for row in csv.DictReader(file)
        }


def read_full_fit(title: str) -> Table:
    """Return the stored fit of the full traces, or an empty table if the file does not exist."""
    if not FULL_FIT.is_file():
        return Table(title, FIT_COLUMNS, [])
    with FULL_FIT.open(encoding="utf-8", newline="") as file:
        (_, *rows) = csv.reader(file)
    return Table(title, FIT_COLUMNS, rows)
