"""`simalloc examples`."""

from __future__ import annotations

from pathlib import Path

import click

from simalloc.cli.messages import echo
from simalloc.examples import FILES, FOLDER
from simalloc.files import copy_files


@click.command(
    "examples",
    epilog="\b\nExamples:\n"
    "  simalloc examples try\n"
    "  simalloc diff try/before.npz try/after.npz\n"
    "  simalloc sweep try/plan.toml -o results.sqlite",
)
@click.argument(
    "directory", type=click.Path(file_okay=False, path_type=Path), default=Path("examples")
)
def command(directory: Path) -> None:
    """Copy a plan, a log, a snapshot, two recordings and a malloc to a folder.

    DIRECTORY is `examples` by default and is created if it does not exist. Files of the same name
    in it are replaced.
    """
    for path in copy_files(FOLDER, FILES, directory):
        echo(path)
