"""A click group that imports a command when it is called, and that reports errors."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click

from simalloc.cli.messages import echo
from simalloc.cli.stdout import spell_plainly
from simalloc.errors import SimallocError

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143
EXIT_PIPE_CLOSED = 1


class Command(NamedTuple):
    """A command: the module that defines it, and the first sentence of its help."""

    module: str
    summary: str


class LazyGroup(click.Group):
    """A group that lists its commands without importing them, and reports errors.

    Invalid input (`SimallocError`), invalid usage, file errors and exhausted memory are reported in
    one line on stderr with exit code 2. Ctrl-C causes exit code 130 and SIGTERM 143, and neither
    leaves a partial file. A closed pipe on stdout ends the program quietly.
    """

    def __init__(
        self, *args: Any, sections: Mapping[str, Mapping[str, Command]], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._sections = sections
        self._lazy_commands = {name: part[name] for part in sections.values() for name in part}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands in the order of the table."""
        return list(self._lazy_commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import and return a command, which is the `command` of its module."""
        if cmd_name not in self._lazy_commands:
            return None
        module = import_module(self._lazy_commands[cmd_name].module)
        if not gc.isenabled():  # __main__.py has disabled garbage collection
            gc.freeze()
            gc.enable()
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the named command. For an unknown name, report the nearest name as a hint."""
        name = args[0]
        if name not in self._lazy_commands and not name.startswith("-"):
            near = get_close_matches(name, self._lazy_commands, n=1)
            hint = f"did you mean {near[0]}?" if near else "`simalloc --help` lists them"
            raise click.UsageError(f"unknown command {name!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the sections of commands without importing the commands."""
        for title, commands in self._sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, each.summary) for name, each in commands.items()])

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run a command line and exit the process."""
        kwargs["standalone_mode"] = False
        if "_SIMALLOC_COMPLETE" in os.environ:
            import_module("simalloc.cli.completing")  # extends click's completion
        _open_closed_streams()
        spell_plainly()
        try:
            with _terminable():
                code = super().main(*args, **kwargs)
            sys.stdout.flush()
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(EXIT_ERROR)
        except click.ClickException as error:
            _fail(error.format_message(), getattr(error, "ctx", None))
        except click.Abort:
            echo("simalloc: interrupted", err=True)
            sys.exit(EXIT_INTERRUPTED)
        except SimallocError as error:
            _fail(str(error))
        except MemoryError as error:
            what = f": {error}" if str(error) else ""
            _fail(f"memory is exhausted{what}")
        except BrokenPipeError:
            _discard_output()
            sys.exit(EXIT_PIPE_CLOSED)
        except OSError as error:
            if error.filename:
                _fail(f"{error.filename}: {_why(error)}")
            _discard_output()
            _fail(error.strerror or str(error))
        sys.exit(code if isinstance(code, int) else 0)


def _open_closed_streams() -> None:
    """Replace stdout and stderr if the caller has closed them.

    Writes to a closed stdout fail, as in other programs. Output to a closed stderr is discarded.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _discard_output() -> None:
    """Discard the rest of stdout's buffer, which the interpreter would flush again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _terminable() -> Iterator[None]:
    """Leave the block by an exception at SIGTERM, so that its resources are cleaned up."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _why(error: OSError) -> str | None:
    folder = Path(os.fsdecode(error.filename)).parent
    is_missing = isinstance(error, FileNotFoundError) and not folder.exists()
    return f"folder {folder} does not exist" if is_missing else error.strerror


def _fail(message: str, ctx: click.Context | None = None) -> NoReturn:
    echo(f"simalloc: error: {message}", err=True)
    if ctx is not None:
        echo(f"See `{ctx.command_path} --help`.", err=True)
    sys.exit(EXIT_ERROR)
