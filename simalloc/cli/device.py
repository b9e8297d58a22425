"""`simalloc device`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from simalloc.cli.device_options import device_options, explored
from simalloc.cli.options import format_option, plot_option
from simalloc.cli.progress import progress
from simalloc.files import keep_apart
from simalloc.measure import WhatIf, device_map
from simalloc.report import Format, write_table
from simalloc.report.device_tables import device_record, device_tables, settings_table
from simalloc.trace import Trace
from simalloc.trace.catalogue import find_trace, load_device


@click.command(
    "device",
    epilog="\b\nExamples:\n"
    "  simalloc device snapshot.pickle --capacity 24G\n"
    "  simalloc device snapshot.pickle --settings max_split_size_mb:200 --search",
)
@click.argument("snapshots", nargs=-1, required=True, metavar="SNAPSHOT...")
@device_options
@click.option(
    "--lenient",
    is_flag=True,
    help="Skip and count invalid entries of a snapshot instead of stopping at the first.",
)
@plot_option("Draw the memory of one snapshot over time.")
@format_option
def command(
    snapshots: Sequence[str],
    capacities: tuple[int, ...],
    settings: Sequence[str],
    searches: bool,  # noqa: FBT001 - click passes a flag
    device: int | None,
    lenient: bool,  # noqa: FBT001 - click passes a flag
    plot: Path | None,
    table_format: Format,
) -> None:
    """Compare settings of PyTorch's allocator by the GPU memory that a program needs.

    SNAPSHOT is a file written by torch.cuda.memory._dump_snapshot, or a trace. The first table
    compares the model with the recorded run. The second table has a row for each setting. It
    contains the peak of reserved bytes, the parts of these bytes, and the smallest device on which
    the program would have run. --plot draws the segments over time under the recorded and the
    best settings. Ctrl-C stops the work and prints the results so far.
    """
    if plot is not None:
        if len(snapshots) > 1:
            raise click.UsageError(
                "--plot draws one snapshot. Run the command once for each snapshot."
            )
        keep_apart(plot, map(find_trace, snapshots))
    found: list[WhatIf] = []
    try:
        for name in snapshots:
            with progress(name, 1.0) as advance:
                trace = load_device(name, device=device, lenient=lenient, progress=advance)
            found.append(explored(trace, settings, capacities, searches=searches))
            if found[-1].interrupted:
                break
            if plot is not None:
                _draw(trace, found[0], plot)
    except KeyboardInterrupt:
        _write(found, table_format)
        raise
    _write(found, table_format)
    if found[-1].interrupted:
        raise KeyboardInterrupt


def _write(found: Sequence[WhatIf], table_format: Format) -> None:
    if table_format == "json":
        json.dump([device_record(each) for each in found], sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    for each in found:
        tables = [settings_table(each)] if table_format == "csv" else device_tables(each)
        for table in tables:
            write_table(table, table_format, sys.stdout)


def _draw(trace: Trace, found: WhatIf, target: Path) -> None:
    from simalloc.report.figures.device_map import draw_device_maps  # noqa: PLC0415 - an extra
    from simalloc.report.figures.saving import save_figure  # noqa: PLC0415 - an extra

    texts = dict.fromkeys((found.settings, found.best.settings))
    save_figure(draw_device_maps([device_map(trace, text) for text in texts]), target)
