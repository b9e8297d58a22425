"""The command line: `simalloc COMMAND`. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

from typing import Final

import click

from simalloc.cli.group import Command, LazyGroup

COMMANDS: Final = {
    "run": Command("simalloc.cli.run", "Replay traces under policies and print what each wastes."),
    "record": Command("simalloc.cli.record", "Run COMMAND and record what it asks of malloc."),
    "traces": Command("simalloc.cli.traces", "List the catalogue of traces."),
    "policies": Command("simalloc.cli.policies", "List the catalogue of policies."),
}
"""Every command by its name: its module, which holds it as `command`, and its summary."""


@click.group(
    cls=LazyGroup,
    lazy_commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExample:\n  simalloc policies --format csv",
)
@click.version_option(package_name="simalloc", prog_name="simalloc")
def main() -> None:
    """Replay a program's allocations under any placement policy and see what each wastes."""
