"""What every experiment's command has in common: its options, exit codes, errors in one line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from simalloc.errors import SimallocError

if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_ERROR: Final = 2
EXIT_INTERRUPTED: Final = 130


def experiment(*examples: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a function the command of an experiment; the examples end its help."""
    shown = "\n".join(f"  {example}" for example in examples)
    title = "Examples:" if len(examples) > 1 else "Example:"
    return click.command(
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=f"\b\n{title}\n{shown}",
    )


def out_option(default: str, what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command --out: the folder that it writes to."""
    return click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path(default),
        show_default=True,
        help=f"The folder for {what}; it is made if need be.",
    )


def run_command(command: click.Command) -> int:
    """Run a command and return the exit code."""
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
