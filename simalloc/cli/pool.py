"""`simalloc pool`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from simalloc.cli.messages import echo
from simalloc.cli.options import format_option, plot_option, traces_argument
from simalloc.cli.policy_option import PolicyCommand, policy_option
from simalloc.cli.progress import progress
from simalloc.cli.size import Size
from simalloc.errors import SimallocError
from simalloc.files import keep_apart
from simalloc.policy import Policy, expand_policies, spell
from simalloc.pool import (
    DECLARATIONS,
    Answer,
    BlockPools,
    Diagnosis,
    Margin,
    answer,
    curve,
    with_variations,
    worst_of,
    worst_program,
)
from simalloc.pool import block_pools as find_block_pools
from simalloc.pool import diagnose as diagnose_pool
from simalloc.report import Format, write_table
from simalloc.report.pools import (
    block_pools_record,
    block_pools_table,
    diagnosis_record,
    diagnosis_table,
    margin_record,
    margins_table,
    pool_record,
    pools_table,
)
from simalloc.trace import Trace, write_trace
from simalloc.trace.catalogue import find_trace, load


@click.command(
    "pool",
    cls=PolicyCommand,
    epilog="\b\nExamples:\n"
    "  simalloc pool iot-node-day -p freertos-heap-4 esp-idf\n"
    "  simalloc pool board.npz -p freertos-heap-4 esp-idf --plot refused.png\n"
    "  simalloc pool board.npz -p zephyr --vary 20 --worst worst.npz",
)
@traces_argument
@policy_option("Policies with a capacity, written as for `simalloc run`. Default: @pool.")
@click.option(
    "--vary",
    type=click.IntRange(min=1),
    metavar="N",
    help="Also serve N variations of each trace: other thread orders, sizes and phases.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the variations.")
@click.option(
    "--window",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    metavar="EVENTS",
    help="Maximum delay of an event in a variation.",
)
@click.option(
    "--worst",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the variation that needs the most memory. Requires --vary and one policy.",
)
@click.option(
    "--adversary",
    is_flag=True,
    help="Print Robson's bound: no smaller pool is sufficient for every program with these sizes "
    "and peak live bytes.",
)
@click.option(
    "--diagnose",
    type=Size(),
    metavar="SIZE",
    help="Print, for each policy, why a pool of this size refuses a request.",
)
@click.option(
    "--block-pools",
    type=click.IntRange(1, 64),
    metavar="K",
    help="Find the best block size and number of blocks for each of K block pools. A heap of the "
    "first policy serves larger requests.",
)
@plot_option("Draw the number of refused requests by pool size, with a line for each policy.")
@format_option
def command(
    traces: Sequence[str],
    policies: Sequence[str],
    vary: int | None,
    seed: int,
    window: int,
    worst: Path | None,
    adversary: bool,  # noqa: FBT001 - click passes a flag
    diagnose: int | None,
    block_pools: int | None,
    plot: Path | None,
    table_format: Format,
) -> None:
    """Find the smallest fixed pool that never refuses a request.

    A pool is a heap of fixed size, as on a board. A larger pool may refuse a request that a smaller
    pool serves. Therefore a safe size is also printed: this size and every larger size serve the
    trace. Every size up to twice the smallest pool is tried, unless the allocator's rules prove the
    result.
    """
    chosen = expand_policies(policies or "@pool")
    if worst is not None and (vary is None or len(chosen) != 1):
        raise SimallocError("--worst requires --vary N and exactly one policy (-p NAME)")
    if worst is not None:
        keep_apart(worst, map(find_trace, traces))
    loaded = [load(name) for name in traces]
    diagnoses = _diagnoses(loaded, chosen, diagnose)
    answers = _answers(loaded, chosen)
    if plot is not None:
        _plot(loaded, answers, plot)
    margins = _margins(loaded, answers, vary, seed, window) if vary else []
    if worst is not None and margins[0].worst is not None:
        write_trace(margins[0].worst, worst)
    found = _Found(answers, margins, diagnoses, _beside_pools(loaded, answers[0], block_pools))
    if table_format == "json":
        _write_json(found)
    else:
        _write_tables(found, table_format)
    if adversary:
        _report_bound(loaded)


class _Found(NamedTuple):
    """Results to write: for each policy its pools, margin and diagnosis, and block pools."""

    answers: Sequence[Answer]
    margins: Sequence[Margin]
    diagnoses: Sequence[Diagnosis | None]
    blocks: tuple[BlockPools, Answer] | None


def _answers(traces: Sequence[Trace], policies: Sequence[Policy]) -> list[Answer]:
    with progress("Pools", len(policies)) as advance:
        return [answer(traces, policy, advance) for policy in policies]


def _margins(
    traces: Sequence[Trace], answers: Sequence[Answer], count: int, seed: int, window: int
) -> list[Margin]:
    varied = with_variations(traces, count, seed, window)
    found = []
    with progress("Variations", len(answers)) as advance:
        for recorded in answers:
            all_of_them = answer(varied, recorded.policy, advance)
            found.append(Margin(recorded, all_of_them, worst_of(varied, all_of_them), count))
    return found


def _plot(traces: Sequence[Trace], answers: Sequence[Answer], path: Path) -> None:
    from simalloc.report.figures.pools import draw_refusals  # noqa: PLC0415 - needs an extra
    from simalloc.report.figures.saving import save_figure  # noqa: PLC0415 - needs an extra

    lines = {}
    with progress("Refused requests", len(answers)) as advance:
        for each in answers:
            if each.sizes is not None:
                lines[spell(each.policy)] = curve(traces, each)
            advance(1)
    peak = max((each.peak_live for each in answers), default=0)
    save_figure(draw_refusals(lines, peak), path)


def _write_json(found: _Found) -> None:
    records = [pool_record(each) for each in found.answers]
    for record, margin in zip(records, found.margins, strict=False):
        record["varied"] = margin_record(margin)
    for record, diagnosis in zip(records, found.diagnoses, strict=False):
        record["diagnosis"] = None if diagnosis is None else diagnosis_record(diagnosis)
    if found.blocks is not None:
        records[0]["block_pools"] = block_pools_record(*found.blocks)
    json.dump(records, sys.stdout, indent=2)
    sys.stdout.write("\n")


def _diagnoses(
    traces: Sequence[Trace], policies: Sequence[Policy], capacity: int | None
) -> list[Diagnosis | None]:
    if capacity is None:
        return []
    if len(traces) != 1:
        raise SimallocError(f"--diagnose takes one trace; {len(traces)} are given")
    return [diagnose_pool(traces[0], policy, capacity) for policy in policies]


def _beside_pools(
    traces: Sequence[Trace], alone: Answer, count: int | None
) -> tuple[BlockPools, Answer] | None:
    """Return block pools and the remaining heap."""
    if count is None:
        return None
    least = alone.sizes.smallest if alone.sizes else 0
    cost = least / alone.peak_live if least and alone.peak_live else 1.0
    found = find_block_pools(traces, count, cost)
    return found, answer([found.rest_of(trace) for trace in traces], alone.policy)


def _write_tables(found: _Found, table_format: Format) -> None:
    """Write all results as tables; format `table` also prints declarations of block pools."""
    write_table(pools_table(found.answers), table_format, sys.stdout)
    if found.margins:
        write_table(margins_table(found.margins), table_format, sys.stdout)
    for each, diagnosis in zip(found.answers, found.diagnoses, strict=False):
        if diagnosis is None:
            echo(f"{spell(each.policy)} serves every request in a pool of that size.", err=True)
        else:
            write_table(diagnosis_table(diagnosis), table_format, sys.stdout)
    if found.blocks is not None:
        pools, rest = found.blocks
        write_table(block_pools_table(pools, found.answers[0], rest), table_format, sys.stdout)
        if table_format == "table":
            for system, declare in DECLARATIONS.items():
                echo(f"{system}:\n\n{declare(pools)}\n")


def _report_bound(traces: Sequence[Trace]) -> None:
    bound = worst_program(traces)
    if bound is not None:
        echo(
            f"Worst program of these sizes and this peak, under any allocator: {bound:,.0f} bytes, "
            "without headers (Robson 1974).",
            err=True,
        )
