"""`simalloc policies`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from simalloc.cli.options import format_option
from simalloc.report import write_table
from simalloc.report.policies import policies_table

if TYPE_CHECKING:
    from simalloc.report import Format


@click.command("policies", epilog="\b\nExample:\n  simalloc policies --format markdown")
@format_option
def command(table_format: Format) -> None:
    """List the catalogue of policies.

    Each has a name, the family whose mechanism it uses, its parameters, the source of its rules,
    and how they are read where the source is silent.
    """
    write_table(policies_table(), table_format, sys.stdout)
