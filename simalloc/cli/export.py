"""`simalloc export`."""

from __future__ import annotations

import click

from simalloc.cli import completing
from simalloc.cli.messages import echo
from simalloc.cli.progress import progress
from simalloc.plural import counted
from simalloc.trace.catalogue import find_trace
from simalloc.trace.formats.exporting import STDOUT, export_trace
from simalloc.trace.formats.registry import WRITERS


@click.command(
    "export",
    epilog="\b\nExamples:\n"
    "  simalloc export espresso -o espresso.txt.zst\n"
    "  simalloc export espresso -o - | head",
)
@click.argument("trace", shell_complete=completing.traces)
@click.option("-o", "--output", "log", required=True, metavar="LOG", help="The log to write.")
@click.option(
    "--to",
    "to_format",
    type=click.Choice(list(WRITERS)),
    default="text",
    show_default=True,
    help="Format of the log.",
)
def command(trace: str, log: str, to_format: str) -> None:
    """Convert a trace to a log that other tools read.

    TRACE is a file or a name that `simalloc traces` lists. LOG is a file, or - for standard output.
    A file whose name ends in .zst, .gz, .xz or .bz2 is compressed.
    """
    with progress(trace, 1.0) as advance:
        exported = export_trace(find_trace(trace), log, to_format, progress=advance)
    totals, split = exported
    where = "standard output" if log == STDOUT else log
    echo(
        f"{where}: {counted(totals.events, 'event')} on {counted(totals.objects, 'object')} "
        f"(as {to_format})",
        err=True,
    )
    if split:
        echo(
            f"  split: {counted(split, 'realloc')}, each into a free and an allocation: "
            f"{to_format} has no reallocs",
            err=True,
        )
