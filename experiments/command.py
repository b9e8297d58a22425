"""What the commands of the experiments share: a folder to write to, and how they end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from simalloc.errors import SimallocError

if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_ERROR: Final = 2
EXIT_INTERRUPTED: Final = 130


def run(help_text: str, work: Callable[[Path], None]) -> int:
    """Run an experiment's command, which does its work for an `--out` folder; return the code."""

    @click.command(context_settings={"help_option_names": ["-h", "--help"]}, help=help_text)
    @click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path("out"),
        show_default=True,
        help="The folder for the page and its pictures; it is made if need be.",
    )
    def command(out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        work(out)

    try:
        command(standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return EXIT_ERROR
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except (SimallocError, OSError) as error:
        click.echo(f"error: {error}", err=True)
        return EXIT_ERROR
    return 0
