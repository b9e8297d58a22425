"""`python -m benchmarks.reading`: speed of decoding trace files on one core."""

from __future__ import annotations

import sys
import time

import click

from benchmarks.command import run, say, table_option
from benchmarks.replay import TRACES
from simalloc.report import Format, Rounded, Table, write_table
from simalloc.report.table import Value
from simalloc.trace import TraceReader
from simalloc.trace.catalogue import find_trace


@click.command()
@click.option("--traces", default=TRACES, show_default=True, help="Names or paths, with commas.")
@click.option("--repeats", type=click.IntRange(min=1), default=7, show_default=True)
@table_option
def main(*, traces: str, repeats: int, table_format: Format) -> None:
    """Measure the reading of trace files, with every check that a replay makes.

    The figure is the minimum of the thread's CPU times.
    """
    names = traces.split(",")
    times = [_seconds_an_event(name, repeats) for name in names]
    rows: list[list[Value]] = [
        ["ns per event", *(Rounded(1e9 * seconds, 1) for seconds in times)],
        ["million events/s", *(Rounded(1e-6 / seconds, 0) for seconds in times)],
    ]
    write_table(Table("Reading trace files", ("", *names), rows), table_format, sys.stdout)


def _seconds_an_event(name: str, repeats: int) -> float:
    path = find_trace(name)
    times = []
    for _ in range(repeats):
        say(f"reading {name}")
        started = time.thread_time()
        with TraceReader(path) as reader:
            events = sum(len(part.op) for part in reader.replayed_parts())
        times.append(time.thread_time() - started)
    return min(times) / max(events, 1)


if __name__ == "__main__":
    run(main)
