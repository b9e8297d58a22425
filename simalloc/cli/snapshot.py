"""`simalloc snapshot`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Literal

import click

from simalloc.cli.progress import progress
from simalloc.files import replacing
from simalloc.process import open_target, take_snapshot, write_blocks
from simalloc.report import write_table
from simalloc.report.snapshot import snapshot_answer, snapshot_record, snapshot_tables


@click.command(
    "snapshot",
    epilog="\b\nExamples:\n"
    "  simalloc snapshot 1234\n"
    "  simalloc snapshot $(pidof mariadbd) --format json\n"
    "  simalloc snapshot core.1234 --blocks blocks.csv",
)
@click.argument("source", metavar="PID|CORE")
@click.option(
    "--blocks",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.csv",
    help="Write every block: its address, usable bytes, state and arena.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How the result is printed.",
)
def command(source: str, blocks: Path | None, output_format: Literal["table", "json"]) -> None:
    """Print what the memory of a running process or a core file is, and why it is not returned.

    Reads every heap of glibc's malloc (2.31 to 2.44, x86-64) block by block. The process needs no
    preparation. Nothing is written into it, and it is stopped only for parts that change while they
    are read. The first line is the answer; the tables use the terms of `simalloc waste`.
    """
    with progress(f"Reading {source}", None):
        snapshot = take_snapshot(open_target(source))
    if blocks is not None:
        with replacing(blocks) as stream, io.TextIOWrapper(stream, "ascii") as text:
            write_blocks(snapshot, text)
    if output_format == "json":
        json.dump(snapshot_record(snapshot), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        click.echo(snapshot_answer(snapshot))
        for table in snapshot_tables(snapshot):
            click.echo()
            write_table(table, "table", sys.stdout)
    for problem in snapshot.problems:
        click.echo(f"simalloc: {problem}", err=True)
