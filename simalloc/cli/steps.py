"""`simalloc steps`."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import click

from simalloc.cli import completing
from simalloc.cli.messages import echo
from simalloc.cli.options import output_option
from simalloc.cli.policy_option import one_policy_option
from simalloc.cli.simulation_options import realloc_option, scale_option
from simalloc.heap.run_options import RunKeywords
from simalloc.heap.watch.steps import take_steps
from simalloc.trace.catalogue import load


@click.command(
    "steps",
    epilog="\b\nExamples:\n"
    "  printf 'm 0 100\\nm 1 40\\nf 0\\nm 2 24\\n' > small.txt; simalloc steps small.txt\n"
    "  simalloc steps small.txt -p best-fit-ao -o steps.html\n"
    "  simalloc steps espresso -p binary-buddy --events 1 40 -o steps.svg",
)
@click.argument("trace", shell_complete=completing.traces)
@one_policy_option(
    "The policy that places the objects, for example first-fit-lifo:growth=1K.",
    default="first-fit-ao",
)
@click.option(
    "--events",
    type=(int, int),
    metavar="FIRST LAST",
    help="Show only these events, counted from 1.",
)
@scale_option
@realloc_option
@output_option("File to write: .html (with a slider), .svg (animated) or .txt. Default: stdout.")
def command(
    trace: str,
    policy: str,
    events: tuple[int, int] | None,
    output: Path | None,
    **asked: Unpack[RunKeywords],
) -> None:
    """Show a small heap after each event: its blocks and its free list."""
    first, last = events or (1, None)
    steps = take_steps(load(trace), policy, first=first, last=last, **asked)
    if output is None:
        echo(str(steps))
    else:
        steps.save(output)
