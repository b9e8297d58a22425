"""How every experiment's command ends: exit codes, and errors in one line."""

from __future__ import annotations

from typing import Final

import click

from simalloc.errors import SimallocError

EXIT_ERROR: Final = 2
EXIT_INTERRUPTED: Final = 130


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
