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

    Every command accepts the names in this list. Traces are searched in the folder that the
    environment variable SIMALLOC_TRACES names, in traces/ of the current directory, and among the
    traces installed with simalloc.
    """
    write_table(traces_table(), table_format, sys.stdout)
