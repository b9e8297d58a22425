"""`simalloc info`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import click

from simalloc.cli.messages import echo
from simalloc.cli.options import format_option, plot_option, traces_argument
from simalloc.cli.progress import progress
from simalloc.files import keep_apart
from simalloc.report import Format, write_table
from simalloc.report.at_start import start_sentence
from simalloc.report.mappings import mappings_table
from simalloc.report.statistics import (
    statistics_record,
    statistics_summary,
    statistics_tables,
    statistics_values_table,
)
from simalloc.trace import EventSource
from simalloc.trace.catalogue import find_trace, open_source
from simalloc.trace.sample import refuse_sample
from simalloc.trace.statistics import Statistics, describe


@click.command(
    "info",
    epilog="\b\nExamples:\n"
    "  simalloc info espresso p2c --added 8\n"
    "  simalloc info my-program.npz --format json\n"
    "  simalloc info espresso --plot espresso.png",
)
@traces_argument
@click.option(
    "--added",
    type=click.IntRange(min=0, max=1 << 20),
    default=0,
    show_default=True,
    metavar="BYTES",
    help="Bytes added to each size before sizes are grouped (8 in Johnstone & Wilson's table 2).",
)
@plot_option("Draw one trace: live bytes over time, sizes, lifetimes.")
@click.option("--dark", is_flag=True, help="Draw the plot light on dark.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Print every figure instead of the five most important.",
)
@format_option
def command(
    traces: Sequence[str],
    added: int,
    plot: Path | None,
    dark: bool,  # noqa: FBT001 - click passes a flag
    everything: bool,  # noqa: FBT001 - click passes a flag
    table_format: Format,
) -> None:
    """Print statistics of traces: sizes, lifetimes, peaks, reallocs, threads.

    TRACE is a file or a name that `simalloc traces` lists. The table contains the five most
    important figures; --all, JSON and CSV contain every figure. docs/statistics.md defines each
    one. Files of any length are streamed.
    """
    if plot is not None and len(traces) > 1:
        raise click.UsageError("--plot draws one trace. Run the command once for each trace.")
    if plot is not None:
        keep_apart(plot, map(find_trace, traces))
    described, mapped, starts = [], [], []
    with progress("statistics", len(traces) + (plot is not None)) as advance:
        for name in traces:
            trace = open_source(name)
            refuse_sample(trace)
            described.append(describe(trace, added=added, progress=advance))
            mapped.append(mappings_table(trace.provenance))
            starts.append(start_sentence(trace.provenance))
            if plot is not None:
                _draw(trace, described[0], plot, "dark" if dark else "light", advance)
    _print(described, table_format, everything=everything or bool(added))
    if table_format not in {"json", "csv"}:
        for table in filter(None, mapped):
            sys.stdout.write("\n")
            write_table(table, table_format, sys.stdout)
        for statistics, sentence in zip(described, starts, strict=True):
            if sentence:
                echo(f"{statistics.name}: {sentence}")


def _draw(
    trace: EventSource,
    statistics: Statistics,
    target: Path,
    theme: Literal["light", "dark"],
    advance: Callable[[float], None],
) -> None:
    from simalloc.report.figures.portrait import draw_portrait  # noqa: PLC0415 - an extra
    from simalloc.report.figures.saving import save_figure  # noqa: PLC0415 - an extra

    save_figure(draw_portrait(trace, statistics, theme=theme, progress=advance), target)


def _print(described: Sequence[Statistics], table_format: Format, *, everything: bool) -> None:
    if table_format == "json":
        json.dump([statistics_record(one) for one in described], sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    wanted = (
        [statistics_values_table(described)]
        if table_format == "csv"
        else (statistics_tables if everything else statistics_summary)(described)
    )
    for table in wanted:
        write_table(table, table_format, sys.stdout)
        if table is not wanted[-1]:
            sys.stdout.write("\n")
