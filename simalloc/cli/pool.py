"""`simalloc pool`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from simalloc.cli.options import format_option, plot_option
from simalloc.cli.policy_option import PolicyCommand, policy_option
from simalloc.cli.progress import progress
from simalloc.errors import SimallocError
from simalloc.files import keep_apart
from simalloc.policy import Policy, expand_policies, spell
from simalloc.pool import (
    Answer,
    Margin,
    answer,
    curve,
    with_variations,
    worst_of,
    worst_program,
)
from simalloc.report import Format, write_table
from simalloc.report.pools import margins_table, pool_record, pools_table
from simalloc.trace import Trace, write_trace
from simalloc.trace.catalogue import find_trace, load


@click.command(
    "pool",
    cls=PolicyCommand,
    epilog="\b\nExamples:\n"
    "  simalloc pool iot-node-day\n"
    "  simalloc pool board.npz -p freertos-heap-4 esp-idf --plot refused.png\n"
    "  simalloc pool board.npz -p zephyr --vary 20 --worst worst.npz",
)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@policy_option("Policies that have a capacity, as `simalloc run` takes them. Default: @pool.")
@click.option(
    "--vary",
    type=click.IntRange(min=1),
    metavar="N",
    help="Also serve N variations of each trace: other orders of threads, other sizes and phases.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="The seed of the variations.")
@click.option(
    "--window",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    metavar="EVENTS",
    help="How far a variation may delay an event.",
)
@click.option(
    "--worst",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the variation that needs the most memory; takes --vary and one policy.",
)
@click.option(
    "--adversary",
    is_flag=True,
    help="Print Robson's bound: what a worst program of these sizes and this peak needs.",
)
@plot_option("Draw the refused requests against the pool's size, a line an allocator.")
@format_option
def command(
    traces: Sequence[str],
    policies: Sequence[str],
    vary: int | None,
    seed: int,
    window: int,
    worst: Path | None,
    adversary: bool,  # noqa: FBT001 - click passes a flag
    plot: Path | None,
    table_format: Format,
) -> None:
    """Find the smallest pool that serves every request of the traces, and which larger ones fail.

    A pool is a heap of fixed size, as on a board. A larger pool may fail where a smaller one works:
    every size is tried, unless the allocator's rules prove what it comes to. The safe size is that
    from which on no size fails, up to twice the smallest.
    """
    chosen = expand_policies(policies or "@pool")
    if worst is not None and (vary is None or len(chosen) != 1):
        raise SimallocError("--worst takes --vary N and one policy (-p NAME)")
    if worst is not None:
        keep_apart(worst, map(find_trace, traces))
    loaded = [load(name) for name in traces]
    answers = _answers(loaded, chosen)
    if plot is not None:
        _plot(loaded, answers, plot)
    margins = _margins(loaded, answers, vary, seed, window) if vary else []
    if worst is not None and margins[0].worst is not None:
        write_trace(margins[0].worst, worst)
    if table_format == "json":
        _write_json(answers, margins)
    else:
        write_table(pools_table(answers), table_format, sys.stdout)
        if margins and vary:
            write_table(margins_table(margins, vary), table_format, sys.stdout)
    if adversary:
        _tell_bound(loaded)


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
            found.append(Margin(recorded, all_of_them, worst_of(varied, all_of_them)))
    return found


def _plot(traces: Sequence[Trace], answers: Sequence[Answer], path: Path) -> None:
    from simalloc.report.figures.pools import draw_refusals  # noqa: PLC0415 - needs an extra
    from simalloc.report.figures.saving import save_figure  # noqa: PLC0415 - the same

    lines = {}
    with progress("Refused requests", len(answers)) as advance:
        for each in answers:
            if each.sizes is not None:
                lines[spell(each.policy)] = curve(traces, each)
            advance(1)
    peak = max((each.peak_live for each in answers), default=0)
    save_figure(draw_refusals(lines, peak), path)


def _write_json(answers: Sequence[Answer], margins: Sequence[Margin]) -> None:
    records = [pool_record(each) for each in answers]
    for record, margin in zip(records, margins, strict=False):
        sizes = margin.varied.sizes
        record["varied"] = {
            "least_bytes": sizes.least if sizes else None,
            "failing_bytes": list(sizes.near) if sizes else [],
            "safe_bytes": sizes.safe if sizes else None,
            "needed_by": margin.worst.name if margin.worst else None,
        }
    json.dump(records, sys.stdout, indent=2)
    sys.stdout.write("\n")


def _tell_bound(traces: Sequence[Trace]) -> None:
    bound = worst_program(traces)
    if bound is not None:
        click.echo(
            f"Worst program of these sizes and this peak, under any allocator: {bound:,.0f} bytes, "
            "without headers (Robson 1974).",
            err=True,
        )
