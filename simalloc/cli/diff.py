"""`simalloc diff`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from simalloc.advice.before_after import BeforeAfter, before_after
from simalloc.cli import completing
from simalloc.cli.options import format_option, output_option, rows_option
from simalloc.cli.policy_option import one_policy_option
from simalloc.cli.progress import progress
from simalloc.errors import SimallocError
from simalloc.files import keep_apart, replacing
from simalloc.report import Format, write_table
from simalloc.report import page as pages
from simalloc.report.before_after import (
    before_after_record,
    before_after_tables,
    before_after_values_table,
)
from simalloc.trace import Trace
from simalloc.trace.catalogue import find_trace, load


@click.command(
    "diff",
    epilog="\b\nExamples:\n"
    "  simalloc diff before.npz after.npz\n"
    "  simalloc diff before.npz after.npz -p jemalloc --format json\n"
    "  simalloc diff before.npz after.npz -o page.html",
)
@click.argument("before", metavar="BEFORE", shell_complete=completing.traces)
@click.argument("after", metavar="AFTER", shell_complete=completing.traces)
@one_policy_option("Replay both under this policy. Default: the malloc of each recording.")
@rows_option("functions")
@output_option(
    "Also write a page with the changes, and below them the report on each recording.",
    metavar="FILE.html",
)
@format_option
def command(
    before: str,
    after: str,
    policy: str | None,
    most: int,
    output: Path | None,
    table_format: Format,
) -> None:
    """Compare two recordings of a program.

    The tables compare live, resident and mapped bytes and the fragmentation. If both recordings
    were made with --sites or --stacks, the functions whose memory changed most follow.
    """
    if output is not None:
        keep_apart(output, map(find_trace, (before, after)))
    traces = [load(before), load(after)]
    if any(trace.is_of_device for trace in traces) and policy is None:
        raise SimallocError(
            "a recording of GPU memory has no malloc: name a policy, for example -p pytorch"
        )
    with progress("before and after", sum(map(len, traces))) as advance:
        found = before_after(traces[0], traces[1], policy, progress=advance)
    if output is not None:
        _write_page(output, (before, after), traces, found)
    if table_format == "json":
        json.dump(before_after_record(found), sys.stdout, indent=2)
        sys.stdout.write("\n")
    elif table_format == "csv":
        write_table(before_after_values_table(found), table_format, sys.stdout)
    else:
        for table in before_after_tables(found, most):
            write_table(table, table_format, sys.stdout)


def _write_page(
    output: Path, given: tuple[str, str], traces: list[Trace], found: BeforeAfter
) -> None:
    if traces[0].name == traces[1].name:
        traces = [
            trace.renamed(f"{trace.name} ({when})")
            for trace, when in zip(traces, ("before", "after"), strict=True)
        ]
    with replacing(output) as stream:
        findings = [
            pages.find_out(trace, given=one, stage=progress)
            for trace, one in zip(traces, given, strict=True)
        ]
        words = f"simalloc diff {given[0]} {given[1]} -o {output.name}"
        stream.write(pages.page(findings, words, before_after=found))
