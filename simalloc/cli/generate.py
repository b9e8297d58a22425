"""`simalloc generate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from simalloc.cli.messages import echo
from simalloc.cli.number import Number
from simalloc.cli.progress import progress
from simalloc.plural import counted
from simalloc.trace import write_trace
from simalloc.trace.formats.exporting import trace_file_for
from simalloc.trace.workloads import Synthetic, generate
from simalloc.trace.workloads.parameters import MAX_OBJECTS


@click.command(
    "generate",
    epilog="\b\nExamples:\n"
    "  simalloc generate -o web.npz --sizes lognormal:median=64,sigma=1.5 --objects 1000000\n"
    "  simalloc generate -o like.npz --like espresso --seed 2\n"
    "  simalloc generate -o peaks.npz --lifetimes generational --phases sawtooth:periods=8",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="TRACE",
    help="The trace to write: NAME.npz or NAME.txt.",
)
@click.option(
    "--objects",
    type=click.IntRange(1, MAX_OBJECTS),
    default=100_000,
    show_default=True,
    help="Number of objects.",
)
@click.option(
    "--sizes",
    default="lognormal",
    show_default=True,
    metavar="DISTRIBUTION",
    help="Distribution of requested sizes: constant:value=, uniform:min=,max=, "
    "lognormal:median=,sigma=, powerlaw:alpha=,min=,max=, table:file=CSV or table:trace=TRACE.",
)
@click.option(
    "--lifetimes",
    default="exponential",
    show_default=True,
    metavar="DISTRIBUTION",
    help="Distribution of lifetimes, in allocations: exponential:mean=, powerlaw:alpha=,min=,max=, "
    "fifo:length=, lifo:depth=, generational:young=,tenured=,old=, by-size:file= or trace=, "
    "resampled:trace=.",
)
@click.option(
    "--like",
    metavar="TRACE",
    help="Draw the sizes from this trace, and the lifetimes from its objects of the same size.",
)
@click.option(
    "--correlation",
    type=Number(-1, 1),
    default=0.0,
    show_default=True,
    help="Rank correlation of size and lifetime.",
)
@click.option(
    "--batch",
    type=Number(min=1),
    default=1.0,
    show_default=True,
    help="Mean number of consecutively allocated objects that are freed together.",
)
@click.option(
    "--phases",
    default="plateau",
    show_default=True,
    metavar="PHASES",
    help="Course of the live bytes: plateau, ramp:kept=, sawtooth:periods=,kept= or "
    "peaks:periods=,width=,height=.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 1 << 16),
    default=1,
    show_default=True,
    help="Number of threads.",
)
@click.option(
    "--remote",
    type=Number(0, 1),
    default=0.0,
    show_default=True,
    help="Share of the objects that another thread frees.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Seed of the random numbers.",
)
@click.option("--name", help="Name of the trace. Default: the file's name.")
def command(output: str, like: str | None, seed: int, name: str | None, **chosen: Any) -> None:
    """Generate a synthetic trace from sizes, lifetimes and phases.

    The same options and seed give the same trace. A synthetic trace does not predict how a policy
    performs on a program, even if the trace has the program's sizes and lifetimes.
    docs/workloads.md shows the error on the shipped traces.
    """
    if like is not None:
        chosen |= {"sizes": f"table:trace={like}", "lifetimes": f"resampled:trace={like}"}
    with progress(output, 2.0) as advance:
        trace = generate(Synthetic(**chosen), seed, name or Path(output).stem, progress=advance)
        with trace_file_for(output) as path:
            write_trace(trace, path, progress=advance)
    echo(
        f"{output}: {counted(len(trace), 'event')} on {counted(trace.objects, 'object')}", err=True
    )
