"""`simalloc waste`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import click

from simalloc.cli import completing
from simalloc.cli.options import format_option, plot_option
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
from simalloc.heap import Run, simulate_all
from simalloc.heap.quantity import Quantity, measuring
from simalloc.heap.real import (
    MODELS,
    Allocator,
    find_allocators,
    installed,
    passes,
    replay_natively,
)
from simalloc.heap.run_options import RunKeywords, RunOptions
from simalloc.measure import Waste, real_waste, waste
from simalloc.policy import Policy, expand_policies, with_and_without_mechanism
from simalloc.report import Format, write_table
from simalloc.report.waste import own_statistics_table, waste_records_table, waste_table
from simalloc.trace import Trace
from simalloc.trace.catalogue import load


@click.command(
    "waste",
    cls=PolicyCommand,
    epilog="\b\nExamples:\n"
    "  simalloc waste espresso -p kingsley best-fit-ao\n"
    "  simalloc waste redis -p @gabber -a glibc,jemalloc --plot waste.png\n"
    "  simalloc waste larson -p ptmalloc ptmalloc:arena_max=1 --of resident",
)
@click.argument("trace", metavar="TRACE", shell_complete=completing.traces)
@policy_option(
    "Policies, as for `simalloc run`. Each policy is shown as given and with mechanism=on. "
    "Default: @default.",
)
@click.option(
    "-a",
    "--allocators",
    metavar="NAME,...",
    help="Real allocators to compare with, as for `simalloc native`. Default: the installed "
    "allocators that the given policies model.",
)
@scale_option
@realloc_option
@of_option(
    "Examine the heap at the peak of mapped or resident bytes, or when the largest free block is "
    "smallest."
)
@page_option
@write_option
@on_refusal_option
@plot_option("Draw one stacked bar for each heap.")
@format_option
def command(
    trace: str,
    policies: Sequence[str],
    allocators: str | None,
    of: Quantity,
    plot: Path | None,
    table_format: Format,
    **asked: Unpack[RunKeywords],
) -> None:
    """Print where the bytes of a heap go.

    The heap is examined at its peak, or at the event that --of selects. Each byte is live, a header
    or alignment, rounding to a size class, an allocator table, cached, free between live blocks, or
    free at the top. A real allocator reports only its mapped bytes, not these parts.

    Cached and free bytes are also split by page state: resident, never touched, or purged. For
    models of jemalloc, tcmalloc and mimalloc, the lines of their own malloc_stats follow.
    """
    described = with_and_without_mechanism(expand_policies(policies or "@default"))
    real = _allocators(allocators, described)
    replayed = load(trace)
    runs = _runs(replayed, described, measuring(RunOptions(**asked), [of]))
    wastes = [*_wastes(replayed, runs, of), *_real_wastes(replayed, real)]
    table = waste_records_table if table_format in {"json", "csv"} else waste_table
    if plot is not None:
        _plot(wastes, plot)
    write_table(table(wastes), table_format, sys.stdout)
    if table_format not in {"json", "csv"}:
        for one in wastes:
            if one.own_statistics:
                write_table(own_statistics_table(one), table_format, sys.stdout)


def _allocators(names: str | None, policies: Sequence[Policy]) -> list[Allocator]:
    if names is None:
        modelled = dict.fromkeys(MODELS[p.name] for p in policies if p.name in MODELS)
        return [one for one in installed() if one.name in modelled]
    return find_allocators(names)


def _runs(trace: Trace, policies: Sequence[Policy], options: RunOptions) -> list[Run]:
    """Replay the trace under all policies."""
    with progress(trace.name, len(trace) * len(policies)) as advance:
        return simulate_all(trace, policies, options, progress=advance)


def _wastes(trace: Trace, runs: Sequence[Run], of: Quantity) -> list[Waste]:
    """Replay the trace again up to the worst value of each run."""
    with progress("Peaks", len(runs)) as advance:
        wastes = []
        for run in runs:
            wastes.append(waste(trace, run, of=of))
            advance(1)
    return wastes


def _real_wastes(trace: Trace, allocators: Sequence[Allocator]) -> list[Waste]:
    if not allocators:
        return []
    with progress("Real allocators", passes(1) * len(allocators)) as advance:
        runs = replay_natively(trace, allocators, repeats=1, progress=advance)
    return [real_waste(run) for run in runs]


def _plot(wastes: Sequence[Waste], path: Path) -> None:
    from simalloc.report.figures.saving import save_figure  # noqa: PLC0415 - needs an extra
    from simalloc.report.figures.waste import draw_waste  # noqa: PLC0415 - needs an extra

    save_figure(draw_waste(wastes), path)
