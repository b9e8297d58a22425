"""`simalloc sites`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from simalloc.cli import completing
from simalloc.cli.messages import echo
from simalloc.cli.number import Number
from simalloc.cli.options import format_option, rows_option
from simalloc.cli.policy_option import one_policy_option
from simalloc.cli.progress import progress
from simalloc.cli.simulation_options import of_option, page_option
from simalloc.errors import SimallocError
from simalloc.files import replacing
from simalloc.heap.quantity import Quantity
from simalloc.measure.sites import (
    ASKED,
    HELD,
    At,
    By,
    Frame,
    Parting,
    Profile,
    Tree,
    Way,
    best_apart,
    events_of_best_apart,
    profile_of,
    rows_of,
    tree_of,
)
from simalloc.report import Format, write_table
from simalloc.report.profiles import writer_for
from simalloc.report.sites import (
    proposal_text,
    site_records,
    site_records_table,
    sites_table,
    tree_records,
    tree_records_table,
    tree_table,
)
from simalloc.trace import Trace
from simalloc.trace.catalogue import load


def _patterns(_context: Any, _option: Any, patterns: Sequence[str]) -> Sequence[str]:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise click.BadParameter(f"{pattern!r} is not a regular expression: {error}") from None
    return patterns


@click.command(
    "sites",
    epilog="\b\nExamples:\n"
    "  simalloc sites my-program.npz -p ptmalloc\n"
    "  simalloc sites my-program.npz -p ptmalloc --tree top-down --measure wasted_bytes\n"
    "  simalloc sites my-program.npz -p ptmalloc --apart remember_session\n"
    "  simalloc sites my-program.npz -p ptmalloc --export heap.pb.gz && go tool pprof heap.pb.gz",
)
@click.argument("trace", metavar="TRACE", shell_complete=completing.traces)
@one_policy_option("Examine the heap under this policy.")
@click.option(
    "--at",
    type=click.Choice(["worst", "peak", "end"]),
    default="worst",
    show_default=True,
    help="Event at which the heap is examined: the event with the most waste, the peak of --of, or "
    "the end.",
)
@of_option(
    "Peak that --at peak selects: the peak of mapped or resident bytes, or the event at which the "
    "largest free block is smallest."
)
@click.option(
    "--by",
    type=click.Choice(["site", "function", "stack"]),
    default="site",
    show_default=True,
    help="Group rows by allocating line, function or call path.",
)
@click.option(
    "--tree",
    "way",
    type=click.Choice(["top-down", "bottom-up"]),
    default=None,
    help="Print a tree of call paths instead: from main to the functions it calls, or from "
    "allocating code to its callers.",
)
@click.option(
    "--measure",
    type=click.Choice([*HELD, *ASKED]),
    default=None,
    help="Sort by this measure. Default: pinned_bytes with -p, else live_bytes.",
)
@click.option(
    "--only",
    metavar="TEXT",
    help="Keep allocating code with this text in its function or file name.",
)
@click.option(
    "--through", metavar="TEXT", help="Keep call paths with this text in a function or file name."
)
@click.option(
    "--without", metavar="TEXT", help="Omit call paths with this text in a function or file name."
)
@click.option(
    "--wrapper",
    "wrappers",
    multiple=True,
    metavar="REGEX",
    callback=_patterns,
    help="Treat matching functions as allocation wrappers and charge their callers. Repeatable.",
)
@click.option(
    "--unfolded",
    is_flag=True,
    help="Charge allocation wrappers such as xmalloc themselves, not their callers.",
)
@click.option(
    "--apart",
    "parted",
    multiple=True,
    metavar="FUNCTION",
    help="Replay with the objects of this function in a separate heap. Repeatable.",
)
@click.option(
    "--propose",
    is_flag=True,
    help="Find the three proposals for a separate heap that save most.",
)
@rows_option("rows")
@click.option(
    "--min-percent",
    "--least",
    "least",
    type=Number(0, 100),
    default=1,
    show_default=True,
    metavar="PERCENT",
    help="Hide tree nodes below this percentage of the total.",
)
@click.option(
    "--export",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a profile instead of a table: FILE.pb.gz for pprof, FILE.json for speedscope, "
    "FILE.txt with collapsed stacks.",
)
@page_option
@format_option
def command(
    trace: str,
    policy: str | None,
    at: At,
    of: Quantity,
    by: By,
    way: Way | None,
    measure: str | None,
    only: str | None,
    through: str | None,
    without: str | None,
    wrappers: Sequence[str],
    unfolded: bool,  # noqa: FBT001 - click passes options so
    parted: Sequence[str],
    propose: bool,  # noqa: FBT001
    most: int,
    least: float,
    export: Path | None,
    page: int,
    table_format: Format,
) -> None:
    """Print which code allocated the memory and, with -p, which code pins the heap.

    If all live objects in a page are from one site, the site pins the page's free bytes. Without
    these objects, the page could be returned to the system. If a page has live objects of several
    sites, each site gets an equal share of the free bytes.
    """
    writer = None if export is None else writer_for(export)
    if policy is None and (parted or propose):
        option = "--apart" if parted else "--propose"
        raise SimallocError(f"{option} requires a policy (-p NAME)")
    folded = None if unfolded else wrappers
    loaded = load(trace)
    with progress(loaded.name, 2 * len(loaded) if policy else 0) as advance:
        whole = profile_of(
            loaded,
            policy,
            at=at,
            of=of,
            page=page,
            wrappers=folded,
            progress=advance,
        )
    measure = _measure(whole, measure)
    chosen = [whole.sites_in(function) for function in parted]
    profile = whole.where(lambda path: _is_wanted(path, only, through, without))
    if export and writer:
        with replacing(export) as stream:
            stream.write(writer(profile, loaded.name, measure))
    elif way:
        _print_tree(loaded.name, tree_of(profile, way), measure, least, table_format)
    else:
        _print_rows(loaded.name, profile, by, measure, most, table_format)
    if policy and parted:
        _try_apart(loaded, policy, parted, chosen)
    if policy and propose:
        _propose(loaded, policy, folded, page)


def _print_rows(name: str, profile: Profile, by: By, measure: str, most: int, form: Format) -> None:
    rows = rows_of(profile, by, measure)
    if form == "json":
        json.dump(site_records(rows), sys.stdout, indent=2)
        sys.stdout.write("\n")
    elif form == "csv":
        write_table(site_records_table(site_records(rows)), form, sys.stdout)
    else:
        write_table(sites_table(name, rows, measure, most, profile.event), form, sys.stdout)


def _print_tree(name: str, tree: Tree, measure: str, least: float, form: Format) -> None:
    if form == "json":
        json.dump(tree_records(tree, measure), sys.stdout, indent=1)
        sys.stdout.write("\n")
    elif form == "csv":
        write_table(tree_records_table(tree, measure), form, sys.stdout)
    else:
        write_table(tree_table(name, tree, measure, least), form, sys.stdout)


def _measure(profile: Profile, wanted: str | None) -> str:
    """Return the measure that orders rows."""
    if wanted is None:
        return profile.measures[0] if "pinned_bytes" in profile.values else "live_bytes"
    if wanted not in profile.values:
        raise SimallocError(f"{wanted} requires a policy (-p NAME)")
    return wanted


def _is_wanted(
    path: Sequence[Frame], only: str | None, through: str | None, without: str | None
) -> bool:
    return (
        (only is None or _has(path[:1], only))
        and (through is None or _has(path, through))
        and (without is None or not _has(path, without))
    )


def _has(frames: Sequence[Frame], text: str) -> bool:
    return any(text in frame.function or text in frame.file for frame in frames)


def _try_apart(
    trace: Trace, policy: str, functions: Sequence[str], chosen: Sequence[Sequence[int]]
) -> None:
    """Report on stderr the saving of a separate heap for each function's objects."""
    with progress(f"{trace.name}: apart", len(trace) * (1 + len(functions))) as advance:
        parting = Parting(trace, policy, advance)
        found = [parting.apart(sites) for sites in chosen]
    for function, one in zip(functions, found, strict=True):
        echo(
            f"{function} apart: {one.peak_resident_bytes:,.0f} to {one.peak_apart_bytes:,.0f} "
            f"bytes resident at the peak, {one.then_resident_bytes:,.0f} to "
            f"{one.then_apart_bytes:,.0f} when the saving is largest, after event {one.event:,}",
            err=True,
        )


def _propose(trace: Trace, policy: str, wrappers: Sequence[str] | None, page: int) -> None:
    """Report on stderr the functions whose objects should have a separate heap."""
    with progress(f"{trace.name}: apart", events_of_best_apart(trace)) as advance:
        found = best_apart(trace, policy, page=page, wrappers=wrappers, progress=advance)
    for proposal in found:
        echo(f"{proposal_text(proposal)}.", err=True)
    if not found:
        echo("A separate arena would save nothing for any function.", err=True)
