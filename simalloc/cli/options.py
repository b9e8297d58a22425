"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import click

from simalloc.cli import completing
from simalloc.errors import SimallocError
from simalloc.report import FORMATS

format_option: Final = click.option(
    "--format",
    "table_format",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="Output format.",
)

traces_argument: Final = click.argument(
    "traces", nargs=-1, required=True, metavar="TRACE...", shell_complete=completing.traces
)


def output_option(
    what: str, *, metavar: str | None = None, required: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option -o, whose value is the file to write."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar=metavar,
        required=required,
        help=what,
    )


def rows_option(what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option --rows, whose value is the maximum number of `what` in the table."""
    return click.option(
        "--rows",
        "--most",
        "most",
        type=click.IntRange(1),
        default=20,
        show_default=True,
        help=f"Maximum number of {what}.",
    )


def plot_option(what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option --plot. It fails before any work if matplotlib is missing."""
    return click.option(
        "--plot",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        callback=_drawable,
        help=f"{what} A .png, .svg or .pdf file.",
    )


def _drawable(_context: Any, _parameter: Any, path: Path | None) -> Path | None:
    if path is not None and find_spec("matplotlib") is None:
        raise SimallocError("--plot needs matplotlib: pip install 'simalloc[plot]'")
    return path
