"""`simalloc pages`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Unpack

import click

from simalloc.cli.options import format_option, plot_option, traces_argument
from simalloc.cli.policy_option import PolicyCommand, policy_option
from simalloc.cli.progress import progress
from simalloc.cli.simulation_options import realloc_option, scale_option
from simalloc.heap import Run, simulate_all
from simalloc.heap.quantity import measuring
from simalloc.heap.run_options import RunKeywords, RunOptions
from simalloc.policy import expand_policies
from simalloc.report import Format, write_table
from simalloc.report.pages import pages_records_table, pages_table
from simalloc.sizes import parse_size
from simalloc.trace.catalogue import open_source


@click.command(
    "pages",
    cls=PolicyCommand,
    epilog="\b\nExamples:\n"
    "  simalloc pages redis -p first-fit-ao ptmalloc\n"
    "  simalloc pages redis --sizes 4K,2M --format markdown\n"
    "  simalloc pages redis --plot pages.png",
)
@traces_argument
@policy_option("Policies, written as for `simalloc run`. Default: @default.")
@click.option(
    "--sizes",
    default="4K,64K,2M",
    show_default=True,
    metavar="SIZE,...",
    help="Page sizes to count, at most eight.",
)
@click.option(
    "--of",
    type=click.Choice(["mapped", "resident"]),
    help="Also print the mapped bytes, or the bytes in resident pages of 4K, for comparison.",
)
@scale_option
@realloc_option
@plot_option("Draw bars for each policy.")
@format_option
def command(
    traces: Sequence[str],
    policies: Sequence[str],
    sizes: str,
    of: Literal["mapped", "resident"] | None,
    plot: Path | None,
    table_format: Format,
    **asked: Unpack[RunKeywords],
) -> None:
    """Print the bytes in pages with at least one live byte, under each policy.

    These bytes stay resident even if the allocator immediately returns all pages without a live
    byte. They measure the fragmentation that purging cannot remove. Pages of 2M show this
    fragmentation for huge pages.
    """
    occupied = [parse_size(size) for size in sizes.split(",")]
    options = replace(measuring(RunOptions(**asked), [of or "mapped"]), occupied=occupied)
    described = expand_policies(policies or "@default")
    runs: list[Run] = []
    for name in traces:
        source = open_source(name)
        with progress(source.name, len(source) * len(described)) as advance:
            runs += simulate_all(source, described, options, progress=advance)
    if plot is not None:
        _plot(runs, plot)
    table = pages_records_table if table_format in {"json", "csv"} else pages_table
    write_table(table(runs, of), table_format, sys.stdout)


def _plot(runs: Sequence[Run], path: Path) -> None:
    from simalloc.report.figures.pages import draw_pages  # noqa: PLC0415 - needs an extra
    from simalloc.report.figures.saving import save_figure  # noqa: PLC0415 - needs an extra

    save_figure(draw_pages(runs), path)
