"""`simalloc best-possible`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from simalloc.bound import Placement, best_possible, write_placement
from simalloc.bound.placement_file import read_placement
from simalloc.cli.options import format_option
from simalloc.cli.progress import progress
from simalloc.errors import SimallocError
from simalloc.files import keep_apart, replacing
from simalloc.report import Format, write_table
from simalloc.report.bounds import placements_table
from simalloc.trace.catalogue import find_trace, load


@click.command(
    "best-possible",
    epilog="\b\nExamples:\n"
    "  simalloc best-possible espresso redis\n"
    "  simalloc best-possible my-program.npz -o placement.csv\n"
    "  simalloc best-possible --check placement.csv",
)
@click.argument("traces", nargs=-1, metavar="[TRACE...]")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the placement of the one trace here, an object a line: id,lower,upper,size,offset, "
    "as MiniMalloc has it.",
)
@click.option(
    "--check",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="Verify the placement in this file, ours or MiniMalloc's.",
)
@format_option
def command(
    traces: Sequence[str], output: Path | None, check: Path | None, table_format: Format
) -> None:
    """Find how small the heap could be if the whole trace were known beforehand.

    A TRACE is a file, or the name of a trace that `simalloc traces` lists. Objects do not move, and
    every byte can be used. The result is verified. Ctrl-C ends a search with the best so far.
    """
    if not traces and check is None:
        raise click.UsageError("Missing argument 'TRACE...'.")
    if output is not None:
        if len(traces) != 1:
            raise SimallocError(f"-o takes the placement of one trace; {len(traces)} are given")
        keep_apart(output, map(find_trace, traces))
    found = [_find(name) for name in traces]
    if check is not None:
        found.append((check.name, read_placement(check)))
    if output is not None:
        with replacing(output) as stream:
            write_placement(found[0][1], stream)
    write_table(placements_table(found), table_format, sys.stdout)


def _find(given: str) -> tuple[str, Placement]:
    trace = load(given)
    with progress(trace.name, 1.0) as advance:
        return trace.name, best_possible(trace, advance)
