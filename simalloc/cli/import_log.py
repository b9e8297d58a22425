"""`simalloc import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from simalloc.cli.progress import progress
from simalloc.trace.formats.importing import import_log
from simalloc.trace.formats.registry import FORMATS

if TYPE_CHECKING:
    from simalloc.trace.formats.importing import Imported


@click.command(
    "import",
    epilog="\b\nExamples:\n"
    "  simalloc import server.log.zst -o server.npz\n"
    "  my-tool | simalloc import - -o trace.npz --from text --name my-tool",
)
@click.argument("log")
@click.option("-o", "--output", "trace", required=True, metavar="TRACE", help="The trace to write.")
@click.option(
    "--from", "from_format", type=click.Choice(list(FORMATS)), help="The format, if not detected."
)
@click.option(
    "--lenient", is_flag=True, help="Skip and count what is wrong, instead of giving up at it."
)
@click.option("--device", type=int, metavar="N", help="Which device of a snapshot with several.")
@click.option("--name", help="The trace's name; that of the log unless given.")
def command(
    log: str,
    trace: str,
    from_format: str | None,
    lenient: bool,  # noqa: FBT001 - click passes a flag
    device: int | None,
    name: str | None,
) -> None:
    """Turn an allocation log into a trace.

    LOG is a file, or - for standard input. Its format and compression (gzip, bzip2, xz, zstd) are
    told from its content. What the trace leaves out is counted on stderr.
    """
    with progress(log, 1.0) as advance:
        imported = import_log(
            log,
            trace,
            from_format=from_format,
            lenient=lenient,
            device=device,
            name=name,
            progress=advance,
        )
    _report(Path(trace).name, imported)


def _report(trace: str, imported: Imported) -> None:
    totals = imported.totals
    click.echo(
        f"{trace}: {totals.events:,} events on {totals.objects:,} objects, "
        f"at most {totals.max_live_bytes:,} bytes live (from {imported.format.title})",
        err=True,
    )
    for what, tally in imported.left_out.items():
        where = "" if tally.first_line is None else f" (the first at line {tally.first_line:,})"
        click.echo(f"  left out: {tally.count:,} {what}{where}", err=True)
