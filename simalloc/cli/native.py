"""`simalloc native`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from simalloc.cli.allocators_option import allocators_option
from simalloc.cli.options import format_option, traces_argument
from simalloc.cli.progress import progress
from simalloc.heap.real import (
    REPEATS,
    Allocator,
    NativeRun,
    installed,
    passes,
    replay_natively,
)
from simalloc.report import Format, write_table
from simalloc.report.native import native_records_table, native_table
from simalloc.trace.catalogue import load


@click.command(
    "native",
    epilog="\b\nExamples:\n"
    "  simalloc native espresso\n"
    "  simalloc native espresso my-program.npz -a glibc,jemalloc,./libmine.so --no-touch\n"
    "  simalloc native my-program.npz -a glibc,glibc:arena_max=2,jemalloc:MALLOC_CONF=narenas:1",
)
@traces_argument
@allocators_option()
@click.option(
    "--touch/--no-touch",
    default=True,
    show_default=True,
    help="Write to each block when it is allocated, one byte in every 64.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=REPEATS,
    show_default=True,
    help="Number of timed passes. The median is printed.",
)
@format_option
def command(
    traces: Sequence[str],
    allocators: Sequence[Allocator],
    touch: bool,  # noqa: FBT001 - click passes every option by name
    repeats: int,
    table_format: Format,
) -> None:
    """Replay traces through real allocators and print their memory.

    Each allocator replaces the C library's malloc in a separate process. The table has the peak,
    the final value and the mean of the memory obtained from the system. Each thread of the trace
    runs as a thread, in the order of the trace. Times are processor times; the first pass is not
    timed.
    """
    chosen = allocators or installed()
    runs = [run for name in traces for run in _run_all(name, chosen, touch=touch, repeats=repeats)]
    table = native_records_table if table_format in {"json", "csv"} else native_table
    write_table(table(runs), table_format, sys.stdout)


def _run_all(
    name: str, allocators: Sequence[Allocator], *, touch: bool, repeats: int
) -> list[NativeRun]:
    trace = load(name)
    with progress(trace.name, passes(repeats) * len(allocators)) as advance:
        return replay_natively(trace, allocators, touch=touch, repeats=repeats, progress=advance)
