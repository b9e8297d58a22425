"""`simalloc device`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from simalloc.cli.options import format_option
from simalloc.cli.progress import progress
from simalloc.errors import PolicyError
from simalloc.measure.device import SETTINGS, search, what_if
from simalloc.measure.device.search import CANDIDATES
from simalloc.policy import parse_size
from simalloc.report import write_table
from simalloc.report.device import device_record, device_tables, settings_table
from simalloc.trace.catalogue import load_device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simalloc.measure import WhatIf
    from simalloc.report import Format
    from simalloc.trace import Trace


def _capacities(_: click.Context, __: click.Parameter, given: Sequence[str]) -> tuple[int, ...]:
    try:
        sizes = tuple(
            parse_size(text.strip().upper().removesuffix("B").removesuffix("I")) for text in given
        )
    except PolicyError as error:
        raise click.BadParameter(str(error)) from None
    if not all(0 < size < 1 << 50 for size in sizes):
        raise click.BadParameter("a capacity lies between 1 byte and a pebibyte")
    return sizes


@click.command(
    "device",
    epilog="\b\nExamples:\n"
    "  simalloc device snapshot.pickle --capacity 24G\n"
    "  simalloc device snapshot.pickle --settings max_split_size_mb:200 --search",
)
@click.argument("snapshots", nargs=-1, required=True, metavar="SNAPSHOT...")
@click.option(
    "--capacity",
    "capacities",
    multiple=True,
    callback=_capacities,
    metavar="SIZE",
    help="Say what fits a device of so many bytes, such as 24G; may be given several times.",
)
@click.option(
    "--settings",
    multiple=True,
    metavar="TEXT",
    help="Further settings, as in PYTORCH_ALLOC_CONF; may be given several times.",
)
@click.option("--search", "searches", is_flag=True, help="Search for the smallest device.")
@click.option("--device", type=int, metavar="N", help="Which device of a snapshot with several.")
@click.option("--lenient", is_flag=True, help="Skip and count what is wrong in a snapshot.")
@format_option
def command(
    snapshots: Sequence[str],
    capacities: tuple[int, ...],
    settings: Sequence[str],
    searches: bool,  # noqa: FBT001 - click passes a flag
    device: int | None,
    lenient: bool,  # noqa: FBT001 - click passes a flag
    table_format: Format,
) -> None:
    """Say what a program would need of a GPU under other settings of PyTorch's allocator.

    A SNAPSHOT is a file of torch.cuda.memory._dump_snapshot, or a trace. The model is shown beside
    the real run, then for each settings the peak of what is reserved, what that is for, and the
    smallest device on which the program would have run.
    """
    found = []
    for name in snapshots:
        with progress(name, 1.0) as advance:
            trace = load_device(name, device=device, lenient=lenient, progress=advance)
        found.append(_explored(trace, [*SETTINGS, *settings], capacities, searches=searches))
    if table_format == "json":
        json.dump([device_record(each) for each in found], sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    for each in found:
        tables = [settings_table(each)] if table_format == "csv" else device_tables(each)
        for table in tables:
            write_table(table, table_format, sys.stdout)


def _explored(
    trace: Trace, settings: Sequence[str], capacities: tuple[int, ...], *, searches: bool
) -> WhatIf:
    with progress(f"{trace.name}: settings", len(settings) + 1) as advance:
        found = what_if(trace, settings, capacities, progress=advance)
    if not searches:
        return found
    with progress(f"{trace.name}: search", len(CANDIDATES)) as advance:
        best = search(trace, found.best, capacities, progress=advance)
    known = {outcome.settings for outcome in found.outcomes}
    more = () if best.settings in known else (best,)
    return replace(found, outcomes=(*found.outcomes, *more))
