"""`simalloc sites`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from simalloc.cli.options import format_option
from simalloc.cli.progress import progress
from simalloc.cli.simulation_options import page_option
from simalloc.errors import SimallocError
from simalloc.measure.sites import best_apart, events_of_best_apart, held_under, usage_of
from simalloc.measure.sites.apart import Parting
from simalloc.report import write_table
from simalloc.report.sites import (
    by_function,
    proposal_text,
    site_records,
    sites_records_table,
    sites_table,
)
from simalloc.trace.catalogue import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simalloc.measure.sites import At
    from simalloc.report import Format
    from simalloc.trace import Trace


@click.command(
    "sites",
    epilog="\b\nExamples:\n"
    "  simalloc sites my-program.npz -p ptmalloc\n"
    "  simalloc sites my-program.npz -p ptmalloc --apart remember_session",
)
@click.argument("trace", metavar="TRACE")
@click.option("-p", "--policy", metavar="NAME", help="The policy whose heap is looked at.")
@click.option(
    "--at",
    type=click.Choice(["peak", "end"]),
    default=None,
    help="When the heap is looked at. Default: at the end, or at its peak if nothing is live then.",
)
@click.option(
    "--by",
    type=click.Choice(["function", "site"]),
    default="function",
    show_default=True,
    help="What is a row: a function and line, or a call path.",
)
@click.option("--only", metavar="TEXT", help="Only functions and files whose name has this in it.")
@click.option(
    "--wrapper",
    "wrappers",
    multiple=True,
    metavar="REGEX",
    help="A function that allocates for others, so that its caller is meant; several times.",
)
@click.option(
    "--apart",
    "parted",
    multiple=True,
    metavar="FUNCTION",
    help="Replay with the objects of this function in a heap of their own; several times.",
)
@click.option("--propose", is_flag=True, help="Find the three for which that saves most.")
@click.option("--most", type=click.IntRange(1), default=20, show_default=True, help="Rows.")
@page_option
@format_option
def command(
    trace: str,
    policy: str | None,
    at: At | None,
    by: str,
    only: str | None,
    wrappers: Sequence[str],
    parted: Sequence[str],
    propose: bool,  # noqa: FBT001 - click passes options so
    most: int,
    page: int,
    table_format: Format,
) -> None:
    """Say which code has the memory, and with -p which code pins the heap.

    Pinned bytes are the free bytes of pages in which only this code's objects live: they could go
    back to the system if those did not. Where objects of several lie in a page, each has a share.
    """
    loaded = load(trace)
    usage = usage_of(loaded)
    held = None
    if policy is not None:
        with progress(loaded.name, 2 * len(loaded)) as advance:
            held = held_under(loaded, policy, at=at, page=page, progress=advance)
    records = site_records(loaded.provenance, usage, held, wrappers=wrappers)
    shown = by_function(records) if by == "function" else records
    shown = [record for record in shown if only is None or _has(record, only)]
    if table_format == "json":
        json.dump(shown, sys.stdout, indent=2)
        sys.stdout.write("\n")
    elif table_format == "csv":
        write_table(sites_records_table(shown), table_format, sys.stdout)
    else:
        write_table(sites_table(loaded.name, shown, most), table_format, sys.stdout)
    if parted:
        _try_apart(loaded, _named(policy, "--apart"), records, parted)
    if propose:
        _propose(loaded, _named(policy, "--propose"), wrappers, page)


def _named(policy: str | None, option: str) -> str:
    if policy is None:
        raise SimallocError(f"{option} replays under a policy; name one with -p")
    return policy


def _has(record: dict[str, Any], text: str) -> bool:
    return text in record["function"] or text in (record["file"] or "")


def _try_apart(
    trace: Trace, policy: str, records: Sequence[dict[str, Any]], functions: Sequence[str]
) -> None:
    """Say on stderr what each function's objects in a heap of their own would come to."""
    sites = {
        function: [each["site"] for each in records if each["function"] == function]
        for function in functions
    }
    for function, numbers in sites.items():
        if not numbers:
            raise SimallocError(f"no call site is in a function {function!r}")
    with progress(f"{trace.name}: apart", len(trace) * (1 + len(sites))) as advance:
        parting = Parting(trace, policy, advance)
        found = [(function, parting.apart(numbers)) for function, numbers in sites.items()]
    for function, one in found:
        click.echo(
            f"{function} apart: {one.peak_resident_bytes:,.0f} to {one.peak_apart_bytes:,.0f} "
            f"bytes resident at the peak, {one.final_resident_bytes:,.0f} to "
            f"{one.final_apart_bytes:,.0f} at the end",
            err=True,
        )


def _propose(trace: Trace, policy: str, wrappers: Sequence[str], page: int) -> None:
    """Say on stderr which functions' objects had best a heap of their own."""
    with progress(f"{trace.name}: apart", events_of_best_apart(trace)) as advance:
        found = best_apart(trace, policy, page=page, wrappers=wrappers, progress=advance)
    for proposal in found:
        click.echo(f"{proposal_text(proposal)}.", err=True)
    if not found:
        click.echo("No function's objects would save anything in an arena of their own.", err=True)
