"""`simalloc sites`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from simalloc.cli.options import format_option
from simalloc.cli.progress import progress
from simalloc.cli.simulation_options import page_option
from simalloc.errors import SimallocError
from simalloc.heap import moment, simulate
from simalloc.heap.setting import Setting
from simalloc.measure.sites import apart, held_by, usage_of
from simalloc.report import write_table
from simalloc.report.sites import by_function, site_records, sites_records_table, sites_table
from simalloc.trace.catalogue import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simalloc.measure.sites import Held
    from simalloc.report import Format
    from simalloc.trace import Trace

_PROPOSED: Final = 3
"""How many sites are tried in a region of their own if none is named."""


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
@click.option("--propose", is_flag=True, help="Try that with the three that pin most.")
@click.option("--most", type=click.IntRange(1), default=20, show_default=True, help="Rows.")
@page_option
@format_option
def command(
    trace: str,
    policy: str | None,
    at: str | None,
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
    held = None if policy is None else _held(loaded, policy, at, page)
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
    if parted or propose:
        _try_apart(loaded, policy, records, [*parted, *_worst(shown, propose=propose)])


def _held(trace: Trace, policy: str, at: str | None, page: int) -> Held:
    with progress(trace.name, 2 * len(trace)) as advance:
        run = simulate(trace, policy, progress=advance)
        ends = at == "end" or (at is None and run.final_live_bytes > 0)
        event = len(trace) - 1 if ends else run.peak_event
        heap = moment(trace, run, event, progress=advance)
    assert trace.site is not None, "usage_of has looked"
    site = np.where(heap.since >= 0, trace.site[np.maximum(heap.since, 0)], 0).astype(np.int64)
    sites = int(trace.site.max(initial=0)) + 1
    payload = Setting.of(trace, policy, None, None).family().payload
    return held_by(heap, site, sites, scale=run.scale, page=page, payload=payload)


def _has(record: dict[str, Any], text: str) -> bool:
    return text in record["function"] or text in (record["file"] or "")


def _worst(shown: Sequence[dict[str, Any]], *, propose: bool) -> list[str]:
    return [str(record["function"]) for record in shown[:_PROPOSED]] if propose else []


def _try_apart(
    trace: Trace, policy: str | None, records: Sequence[dict[str, Any]], functions: Sequence[str]
) -> None:
    """Say on stderr what each function's objects in a heap of their own would come to."""
    if policy is None:
        raise SimallocError("--apart replays under a policy; name one with -p")
    for function in functions:
        sites = [record["site"] for record in records if record["function"] == function]
        if not sites:
            raise SimallocError(f"no call site is in a function {function!r}")
        found = apart(trace, policy, sites)
        click.echo(
            f"{function} apart: {found.peak_resident_bytes:,.0f} to {found.peak_apart_bytes:,.0f} "
            f"bytes resident at the peak, {found.final_resident_bytes:,.0f} to "
            f"{found.final_apart_bytes:,.0f} at the end",
            err=True,
        )
