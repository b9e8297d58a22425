"""`simalloc snapshot`."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import click

from simalloc.cli.messages import echo
from simalloc.cli.options import output_option, plot_option
from simalloc.cli.progress import progress
from simalloc.files import replacing
from simalloc.process import ProcessError, Snapshot, save_snapshot, snapshot_of, write_blocks
from simalloc.report import write_table
from simalloc.report.snapshot import (
    snapshot_answer,
    snapshot_record,
    snapshot_tables,
    statistics_answer,
    statistics_record,
    statistics_tables,
)
from simalloc.report.table import Table


@click.command(
    "snapshot",
    epilog="\b\nExamples:\n"
    "  simalloc snapshot 1234\n"
    "  simalloc snapshot $(pidof mariadbd) --format json\n"
    "  simalloc snapshot core.1234 --blocks blocks.csv\n"
    "  simalloc snapshot 1234 --plot heap.png",
)
@click.argument("source", metavar="PID|CORE|FILE")
@output_option(
    "Save the snapshot for a later run. The content of memory is not saved.", metavar="FILE.npz"
)
@click.option(
    "--blocks",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.csv",
    help="Write every block: its address, usable bytes, state and arena.",
)
@plot_option("Draw the live, cached, free and non-resident bytes of the arenas by address.")
@click.option(
    "--content/--no-content",
    default=True,
    show_default=True,
    help="Print the first bytes of live blocks. They are never saved.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Output format.",
)
def command(
    source: str,
    output: Path | None,
    blocks: Path | None,
    plot: Path | None,
    *,
    content: bool,
    output_format: Literal["table", "json"],
) -> None:
    """Print the parts of the memory of a running process or a core file.

    Every heap of glibc's malloc (2.31 to 2.44, x86-64) is read block by block. The process needs no
    preparation. Nothing is written into the process. It is stopped only if memory changes while it
    is read. The first line is a summary. The tables use the terms of `simalloc waste`.

    FILE is a saved snapshot or an allocator's own statistics: the XML of glibc's
    malloc_info, the JSON of jemalloc's malloc_stats_print, or the text of tcmalloc's GetStats.
    """
    with progress(f"Reading {source}", None):
        found = snapshot_of(source, content=content)
    if isinstance(found, Snapshot):
        _write_files(found, output, blocks)
        if plot is not None:
            _draw(found, plot)
        _print(
            snapshot_record(found), snapshot_answer(found), snapshot_tables(found), output_format
        )
        for problem in found.problems:
            echo(f"simalloc: {problem}", err=True)
    elif output is not None or blocks is not None or plot is not None:
        raise ProcessError(
            f"{source} contains only sums; -o, --blocks and --plot need a process or a core file"
        )
    else:
        _print(
            statistics_record(found), statistics_answer(found), statistics_tables(found),
            output_format,
        )  # fmt: skip


def _write_files(snapshot: Snapshot, output: Path | None, blocks: Path | None) -> None:
    if output is not None:
        with replacing(output) as stream:
            save_snapshot(snapshot, stream)
    if blocks is not None:
        with replacing(blocks) as stream, io.TextIOWrapper(stream, "ascii") as text:
            write_blocks(snapshot, text)


def _draw(snapshot: Snapshot, target: Path) -> None:
    from simalloc.report.figures.real_heap import draw_real_heap  # noqa: PLC0415 - an extra
    from simalloc.report.figures.saving import save_figure  # noqa: PLC0415 - an extra

    save_figure(draw_real_heap(snapshot), target)


def _print(
    record: dict[str, Any], answer: str, tables: Sequence[Table], output_format: str
) -> None:
    if output_format == "json":
        json.dump(record, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    echo(answer)
    for table in tables:
        echo()
        write_table(table, "table", sys.stdout)
