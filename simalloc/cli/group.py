"""A click group whose commands are imported when they are called, and how it ends."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from simalloc.cli.stdout import spell_plainly
from simalloc.errors import SimallocError

if TYPE_CHECKING:
    from collections.abc import Mapping

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 1


class Command(NamedTuple):
    """Where a command is found, and the first sentence of its help."""

    module: str
    summary: str


class LazyGroup(click.Group):
    """Lists its commands without importing them, and reports errors as simalloc does.

    What is wrong in the input (`SimallocError`), in the usage or with a file is one line on stderr
    and exit code 2; Ctrl-C is exit code 130; a reader who closes the pipe ends the program quietly.
    """

    def __init__(self, *args: Any, lazy_commands: Mapping[str, Command], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy_commands = lazy_commands

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands in the order of the table."""
        return list(self._lazy_commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import a command: it is the `command` of its module."""
        if cmd_name not in self._lazy_commands:
            return None
        module = import_module(self._lazy_commands[cmd_name].module)
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the list of commands from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command.summary) for name, command in self._lazy_commands.items()]
            )

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run a command line and leave the process."""
        kwargs["standalone_mode"] = False
        spell_plainly()
        try:
            code = super().main(*args, **kwargs)
            sys.stdout.flush()
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(EXIT_ERROR)
        except click.ClickException as error:
            _fail(error.format_message(), getattr(error, "ctx", None))
        except click.Abort:
            click.echo("simalloc: interrupted", err=True)
            sys.exit(EXIT_INTERRUPTED)
        except SimallocError as error:
            _fail(str(error))
        except BrokenPipeError:
            # The interpreter flushes stdout once more as it leaves.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(EXIT_PIPE_CLOSED)
        except OSError as error:
            _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, ctx: click.Context | None = None) -> NoReturn:
    click.echo(f"simalloc: error: {message}", err=True)
    if ctx is not None:
        click.echo(f"See `{ctx.command_path} --help`.", err=True)
    sys.exit(EXIT_ERROR)
