"""`simalloc run`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final, Unpack

import click

from simalloc.cli.messages import echo
from simalloc.cli.options import format_option, traces_argument
from simalloc.cli.policy_option import PolicyCommand, policy_option
from simalloc.cli.progress import progress
from simalloc.cli.simulation_options import (
    of_option,
    on_refusal_option,
    page_option,
    realloc_option,
    scale_option,
    write_option,
)
from simalloc.cli.starts import Starts, start_option
from simalloc.heap import Run, simulate_all
from simalloc.heap.quantity import Quantity, measuring
from simalloc.heap.run_options import RunKeywords, RunOptions
from simalloc.policy import ALL, Policy, expand_policies
from simalloc.policy.range import Range
from simalloc.report import Format, Table, write_table
from simalloc.report.ranges import ranges_table
from simalloc.report.runs import record, runs_records_table, runs_table, sorted_runs
from simalloc.sizes import spell_bytes
from simalloc.trace import EventSource

_LONG: Final = 10_000_000
_BYTES_AN_EVENT: Final = 165
"""Memory of the search for the best possible placement, in bytes per event; approximate."""


@click.command(
    "run",
    cls=PolicyCommand,
    epilog="\b\nExamples:\n"
    "  simalloc run espresso gcc -p first-fit-ao best-fit-lifo:growth=64K\n"
    "  simalloc run my-program.npz -p all --format json\n"
    "  simalloc run perl5 -p @johnstone-wilson --range growth=1,16,256,4K,64K,1M\n"
    "  simalloc run my-program.npz --of resident --sort '#4'\n"
    "  simalloc run firmware.npz -p first-fit-ao:capacity=64K --of largest-free",
)
@traces_argument
@policy_option(
    "Names from `simalloc policies`, groups such as @johnstone-wilson, patterns such as "
    "'best-fit-*', all, or FILE.py:CLASS for a policy in Python. Repeatable. Default: @default, "
    "about a dozen.",
)
@of_option("Measure mapped or resident bytes, or the size of the largest free block.")
@page_option
@write_option
@click.option(
    "--sort",
    metavar="COLUMN",
    help="Sort the runs of each trace by a measure, '#1' to '#4', or by another column of the CSV. "
    "Default: '#4' with -p all, else the order of -p.",
)
@click.option(
    "--range",
    "values",
    metavar="PARAMETER=VALUE,VALUE...",
    help="Replay each policy with each of these values, and print the minimum, median and maximum. "
    "A policy without the parameter is replayed once.",
)
@scale_option
@realloc_option
@on_refusal_option
@start_option
@format_option
def command(
    traces: Sequence[str],
    policies: Sequence[str],
    values: str | None,
    of: Quantity,
    sort: str | None,
    table_format: Format,
    starts: Starts,
    **asked: Unpack[RunKeywords],
) -> None:
    """Replay traces under policies and print the fragmentation of each.

    TRACE is a file or a name that `simalloc traces` lists. Files of any length are read in one pass
    for all policies.
    """
    described = expand_policies(policies or "@default")
    options = measuring(RunOptions(**asked), [of])
    opened = (starts.opened(name) for name in traces)
    started = ((source, replace(options, start=heap)) for source, heap in opened)
    if values is not None and sort is not None:
        raise click.UsageError("--range and --sort exclude each other.")
    if values is not None:
        table = _over_range(Range.read(values), started, described, of)
        write_table(table, table_format, sys.stdout)
        return
    column = "#4" if sort is None and ALL in policies else sort
    runs: list[Run] = []
    for source, own in started:
        found = _run_all(source, described, own)
        runs += found if column is None else sorted_runs(found, column, of=of)
    if table_format == "json":
        json.dump([record(run, of) for run in runs], sys.stdout, indent=2)
        sys.stdout.write("\n")
    elif table_format == "csv":
        write_table(runs_records_table(runs, of), table_format, sys.stdout)
    else:
        write_table(runs_table(runs, of=of), table_format, sys.stdout)


def _over_range(
    values: Range,
    started: Iterable[tuple[EventSource, RunOptions]],
    policies: Sequence[Policy],
    of: Quantity,
) -> Table:
    """Return a row for each trace and policy with the range of its results over the values."""
    spread = values.over(policies)
    rows = []
    for source, options in started:
        runs = iter(_run_all(source, [one for many in spread for one in many], options))
        rows += [
            (policy, list(islice(runs, len(many))))
            for policy, many in zip(policies, spread, strict=True)
        ]
    return ranges_table(rows, str(values), of)


def _run_all(source: EventSource, policies: Sequence[Policy], options: RunOptions) -> list[Run]:
    if len(source) > _LONG and any(policy.description.runner == "offline" for policy in policies):
        echo(
            f"simalloc: best-possible takes all of {source.name} into memory, about "
            f"{spell_bytes(_BYTES_AN_EVENT * len(source))}; the other policies do not",
            err=True,
        )
    with progress(source.name, len(source) * len(policies)) as advance:
        return simulate_all(source, policies, options, progress=advance)
