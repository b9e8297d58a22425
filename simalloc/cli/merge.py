"""`simalloc merge`."""

from __future__ import annotations

from pathlib import Path

import click

from simalloc.cli.messages import echo
from simalloc.cli.options import output_option
from simalloc.plural import counted
from simalloc.sweep import merge


@click.command(
    "merge",
    epilog="\b\nExamples:\n"
    "  simalloc merge part-*.sqlite -o results.sqlite\n"
    "  simalloc merge --salvage damaged.sqlite -o saved.sqlite",
)
@click.argument(
    "inputs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RESULTS.sqlite..."
)
@output_option(
    "File that receives the runs. Runs that it already contains are kept.",
    metavar="FILE",
    required=True,
)
@click.option("--salvage", is_flag=True, help="Copy the readable runs of damaged files.")
def command(
    inputs: tuple[Path, ...],
    output: Path,
    salvage: bool,  # noqa: FBT001 - click passes flags by name
) -> None:
    """Merge the runs of several result files.

    A run that occurs in several files is stored once. If two files contain different results for
    the same run, nothing is merged.
    """
    merged = merge(inputs, output, damaged=salvage)
    lost = f", {merged.lost:,} could not be read" if merged.lost else ""
    echo(
        f"simalloc: {counted(merged.new, 'run')} added, "
        f"{merged.present:,} already stored{lost}; {output}",
        err=True,
    )
