"""`simalloc best-possible`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from simalloc.bound import Effort, Placement, best_possible, load_timetable, write_placement
from simalloc.bound.placement_file import read_placement
from simalloc.bound.search import DEFAULT_EFFORT, FEW
from simalloc.cli import completing
from simalloc.cli.messages import echo
from simalloc.cli.number import Number
from simalloc.cli.options import format_option, output_option
from simalloc.cli.progress import progress
from simalloc.cli.size import Size
from simalloc.errors import SimallocError
from simalloc.files import keep_apart, replacing
from simalloc.report import Format, write_table
from simalloc.report.bounds import capacity_sentence, placement_record, placements_table
from simalloc.trace.catalogue import find_trace

DOES_NOT_FIT: Final = 1
NOT_KNOWN: Final = 3
"""Exit statuses of `--capacity`; 2 is invalid input."""


@click.command(
    "best-possible",
    epilog="\b\nExamples:\n"
    "  simalloc best-possible espresso redis\n"
    "  simalloc best-possible my-program.npz -o placement.csv\n"
    "  simalloc best-possible buffers.csv --capacity 1M --effort 60\n"
    "  simalloc best-possible --check placement.csv",
)
@click.argument("traces", nargs=-1, metavar="[TRACE...]", shell_complete=completing.traces)
@output_option(
    "Write the placement of one trace, one line per object, in MiniMalloc's format: "
    "id,lower,upper,size,offset. If objects have alignments or gaps, further columns contain them."
)
@click.option(
    "--check",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="Verify the placement in this file, written by -o or by MiniMalloc.",
)
@click.option(
    "--effort",
    type=Number(min=0, min_open=True),
    metavar="SECONDS",
    help="End the search for each trace after this time. Default: "
    f"{DEFAULT_EFFORT.seconds:g} seconds for up to {FEW:,} objects; for more objects, a fixed "
    "list of fast heuristics instead of a search.",
)
@click.option(
    "--capacity",
    type=Size(1),
    metavar="BYTES",
    help="Only decide if each trace fits into this size, for example 64K or 2M. The exit status is "
    "0 if every trace fits, 1 if one does not fit, and 3 if the answer is unknown.",
)
@format_option
def command(
    traces: Sequence[str],
    output: Path | None,
    check: Path | None,
    effort: float | None,
    capacity: int | None,
    table_format: Format,
) -> None:
    """Compute the smallest heap for a trace that is known in advance.

    TRACE is a file or a name that `simalloc traces` lists. Objects do not move, no byte is lost to
    headers, and alignments requested in the trace are kept. In a table in MiniMalloc's format, a
    buffer may have gaps, during which other buffers use its bytes. Every placement is verified.
    Its status is "optimal" if a lower bound proves that no smaller heap exists. Ctrl-C ends the
    search and prints the best placement so far.
    """
    if not traces and check is None:
        raise click.UsageError("Missing argument 'TRACE...'.")
    if output is not None:
        if len(traces) != 1:
            raise SimallocError(
                f"-o writes the placement of one trace, but {len(traces)} are given. "
                "Run the command once for each trace"
            )
        keep_apart(output, map(find_trace, traces))
    found = [_find(name, effort, capacity) for name in traces]
    if check is not None:
        found.append((check.name, read_placement(check)))
    if output is not None:
        with replacing(output) as stream:
            write_placement(found[0][1], stream)
    if table_format == "json":
        json.dump([placement_record(*one) for one in found], sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        write_table(placements_table(found), table_format, sys.stdout)
    if capacity is not None:
        for name, placement in found:
            echo(capacity_sentence(name, placement, capacity), err=True)
        sys.exit(_status([placement.fits(capacity) for _, placement in found]))


def _find(given: str, effort: float | None, capacity: int | None) -> tuple[str, Placement]:
    name, table = load_timetable(given)
    seconds = None if effort is None else Effort(seconds=effort)
    with progress(name, 1.0) as advance:
        return name, best_possible(table, advance, effort=seconds, capacity=capacity)


def _status(fits: Sequence[bool | None]) -> int:
    """Return the exit status for traces that fit, do not fit, or are undecided."""
    if False in fits:
        return DOES_NOT_FIT
    return NOT_KNOWN if None in fits else 0
