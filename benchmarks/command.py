"""Common parts of the benchmarks' command lines."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

import click

from benchmarks.environment import environment
from simalloc.errors import SimallocError
from simalloc.files import replacing
from simalloc.policy import Policy, expand_policies

table_option: Final = click.option(
    "--format",
    "table_format",
    type=click.Choice(["table", "markdown"]),
    default="table",
    show_default=True,
    help="Format of the tables.",
)


def policies_named(text: str) -> list[Policy]:
    """Return the policies of a list such as `first-fit-ao,@real` or `all`.

    Commas also separate parameters. If a policy has parameters, semicolons separate the policies.
    """
    return list(expand_policies(text.split(";" if ":" in text else ",")))


def say(what: str) -> None:
    """Show the current measurement on stderr, if it is a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{what:<79}\r")


def write_json(target: str, figures: dict[str, Any]) -> None:
    """Write figures with the environment that they were measured in."""
    text = json.dumps({"environment": environment(), **figures}, indent=1)
    with replacing(target) as stream:
        stream.write(f"{text}\n".encode())


def run(command: click.Command) -> None:
    """Run a benchmark's command; print errors in its input as one line, and exit with status 2."""
    try:
        command()
    except SimallocError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
