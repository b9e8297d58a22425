"""`simalloc place`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO, Unpack

import click

from simalloc.cli import completing
from simalloc.cli.options import output_option
from simalloc.cli.policy_option import one_policy_option
from simalloc.cli.progress import progress
from simalloc.cli.simulation_options import (
    of_option,
    on_refusal_option,
    page_option,
    realloc_option,
    scale_option,
    write_option,
)
from simalloc.cli.starts import Starts, start_option
from simalloc.files import replacing
from simalloc.heap.quantity import Quantity, measuring
from simalloc.heap.run_options import RunKeywords, RunOptions
from simalloc.heap.running.setting import Setting
from simalloc.report.placements import write_placements


@contextmanager
def _opened(output: Path | None) -> Iterator[TextIO]:
    if output is None:
        yield sys.stdout
        return
    with replacing(output) as stream:
        text = TextIOWrapper(stream, "utf-8", newline="")
        yield text
        text.flush()
        text.detach()


@click.command(
    "place",
    epilog="\b\nExamples:\n"
    "  simalloc place espresso -p first-fit-ao -o placed.csv\n"
    "  simalloc place threads.txt.zst -p ptmalloc:arena_max=2 -o placed.csv --every 100",
)
@click.argument("trace", metavar="TRACE", shell_complete=completing.traces)
@one_policy_option("The policy that places the objects.", required=True)
@output_option("CSV file to write. Default: stdout.", metavar="FILE.csv")
@click.option(
    "--every",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Write every Nth event, and the last. Default: every event.",
)
@of_option(
    "largest-free also writes the size of the largest free block. Mapped and resident bytes are "
    "always written."
)
@write_option
@page_option
@scale_option
@realloc_option
@on_refusal_option
@start_option
def command(
    trace: str,
    policy: str,
    output: Path | None,
    every: int,
    of: Quantity,
    starts: Starts,
    **asked: Unpack[RunKeywords],
) -> None:
    """Write the address of each object and the size of the heap after each event.

    The columns are event (from 1), address, mapped and resident. `--of largest-free` adds
    largest_free. Some allocators add their own figures, such as jemalloc.allocated. Addresses
    and sizes are divided by the scale. An address may name a part of the heap: `1:2928` is offset
    2928 in arena 1 of glibc. The address is `-` after an event that leaves no object, and `x` after
    a refused request.
    """
    source, heap = starts.opened(trace)
    options = measuring(RunOptions(**asked), ["resident", of])
    setting = Setting.of(source, policy, options, start=heap)
    with (
        progress(source.name, len(source)) as advance,
        _opened(output) as stream,
    ):
        write_placements(setting, stream, every=every, progress=advance)
