"""Everything that the experiment shows, by name, from what has been measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from experiments.johnstone_wilson import (
    evidence,
    figure,
    findings,
    fragmentation,
    growth_steps,
    rank_order,
    sensitivity,
    statistics,
)
from experiments.johnstone_wilson.programs import load_traces
from experiments.johnstone_wilson.replays import replay_all, total_events
from experiments.johnstone_wilson.variants import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from experiments.johnstone_wilson.comparison import Comparison
    from experiments.johnstone_wilson.fragmentation import Runs
    from experiments.johnstone_wilson.statistics import Described
    from simalloc.report import Table
    from simalloc.trace import Trace

JOBS = frozenset((*fragmentation.JOBS, *sensitivity.JOBS, figure.JOB))


@dataclass(frozen=True)
class Results:
    """What has been measured: the traces, their statistics, and every simulation."""

    traces: Mapping[str, Trace]
    described: Described
    runs: Runs


@dataclass(frozen=True)
class Exhibit:
    """One table for people, and the same for programs."""

    table: Table
    data: Table


def measure(
    progress: Callable[[str, float], AbstractContextManager[Callable[[float], None]]],
) -> Results:
    """Load the traces, describe them and carry out every simulation.

    `progress` opens a progress bar for a label and a number of events (`simalloc.cli.progress`).
    """
    traces = load_traces()
    with progress("Simulating", total_events(JOBS, traces)) as advance:
        runs = replay_all(JOBS, traces, advance)
    return Results(traces, statistics.describe_all(traces), runs)


def exhibits(results: Results) -> dict[str, Exhibit]:
    """Return every table by the stem of its file's name, in the order in which they are shown."""
    runs, described = results.runs, results.described
    shown = {
        f"table-{one.published.number}": _compared(one) for one in statistics.comparisons(described)
    }
    plain = {
        "consistency": evidence.consistency_table(),
        "growth-unit": evidence.grids_table(),
        "growth-unit-other-rows": evidence.rows_table(),
        "peak-live-bytes": evidence.live_table(described),
        "figure-1": figure.measures_table(runs[figure.JOB]),
        **{change.key: sensitivity.change_table(change, runs) for change in sensitivity.CHANGES},
        **{choice.policy: sensitivity.choice_table(choice, runs) for choice in sensitivity.CHOICES},
        "luck": sensitivity.luck_table(runs),
        "rank-order": rank_order.orders_table(runs),
        "growth-steps": growth_steps.steps_table(runs),
        "closeness": findings.closeness_table(runs),
        "growth-fit": fragmentation.growth_fit(runs),
        **{f"summary-{n}": fragmentation.summaries(n, runs) for n in fragmentation.NUMBERS},
    }
    shown |= {name: Exhibit(table, _one_line(table)) for name, table in plain.items()}
    for variant in reversed(VARIANTS):
        for number in fragmentation.NUMBERS:
            one = fragmentation.comparison(number, variant, runs)
            shown[f"table-{number}-{variant.key}"] = _compared(one)
    return shown


def _compared(comparison: Comparison) -> Exhibit:
    return Exhibit(comparison.table(), comparison.data())


def _one_line(table: Table) -> Table:
    """Return the table with headings of one line."""
    return replace(table, columns=[column.replace("\n", ", ") for column in table.columns])
