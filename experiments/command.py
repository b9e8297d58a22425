"""How a command of an experiment ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from simalloc.errors import SimallocError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_ERROR: Final = 2
EXIT_INTERRUPTED: Final = 130


def main(command: click.Command, arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code; an error is one line on stderr."""
    try:
        command(arguments, standalone_mode=False)
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
