"""`simalloc traces`."""

from __future__ import annotations

import sys

import click

from simalloc.cli.options import format_option
from simalloc.report import Format, write_table
from simalloc.report.traces import traces_table


@click.command("traces", epilog="\b\nExample:\n  simalloc traces --format json")
@format_option
def command(table_format: Format) -> None:
    """List the catalogue of traces.

    Each can be given by its bare name in every command. The folders searched are the one in the
    environment variable SIMALLOC_TRACES, traces/ in the current directory, and the traces that are
    installed with simalloc.
    """
    write_table(traces_table(), table_format, sys.stdout)
