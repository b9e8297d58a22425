"""The cost of `record --pid` to a process under load, and its survival of many attach cycles.

The benchmark repeatedly attaches to a program whose threads allocate without a pause, and detaches
from it. Each free and realloc in a recording must belong to a block that was live at the start of
the recording or allocated since.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import click

from benchmarks.command import say
from benchmarks.snapshots import Loaded, under_load
from simalloc.errors import SimallocError
from simalloc.process import LiveProcess
from simalloc.process.attach import detach
from simalloc.process.attach.load import attach
from simalloc.process.attach.place import make_place
from simalloc.trace.recorder import RawRecording, Wanted


@dataclass
class Outcome:
    """Totals of all recordings."""

    cycles: int = 0
    errors: list[str] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    """Pause of the program at each start, in seconds."""
    rates: list[float] = field(default_factory=list)
    """Blocks per second during each recording."""
    records: int = 0
    start_bytes: int = 0
    misfits: int = 0
    """Frees and reallocs of unknown blocks, and frees that the recorder missed."""


def size_of(loaded: Loaded) -> str:
    """Return the current number of mappings and the resident memory of the program, as text."""
    process = LiveProcess(loaded.child.pid)
    resident = process.resident_bytes or 0
    return f"{len(process.mappings())} mappings and {resident / 2**20:.1f} MiB"


def record_once(loaded: Loaded, wanted: Wanted, seconds: float, found: Outcome) -> None:
    """Record the program for `seconds`, and add the counts of the recording to `found`."""
    number = loaded.child.pid
    with TemporaryDirectory(prefix="simalloc-") as folder:
        process = LiveProcess(number)
        begun = attach(process, make_place(process, Path(folder) / "out.npz"), wanted)
        found.pauses.append(begun.pause)
        found.rates.append(loaded.rate(seconds))
        detach(number)
        raw = RawRecording(begun.raw)
        os.kill(number, signal.SIGSTOP)  # leaves the processor to the reading
        for _ in raw.chunks():
            pass
        os.kill(number, signal.SIGCONT)
    counts = raw.counts
    found.records += counts.records
    found.start_bytes = max(found.start_bytes, begun.start.bytes if begun.start else 0)
    found.misfits += counts.frees_of_unknown + counts.reallocs_of_unknown + counts.frees_unseen


@click.command()
@click.option("--cycles", default=200, show_default=True)
@click.option("--threads", default=16, show_default=True)
@click.option("--mebibytes", default=64, show_default=True, help="Live memory of the program.")
@click.option("--seconds", default=0.2, show_default=True, help="Length of a recording.")
@click.option("--depth", default=0, show_default=True, help="Return addresses per call path.")
@click.option("--every", default=0, show_default=True, help="Mean sampling distance, in bytes.")
def main(cycles: int, threads: int, mebibytes: int, seconds: float, depth: int, every: int) -> None:
    """Attach to a program under load and detach from it repeatedly, and count the errors."""
    found = Outcome()
    with under_load(threads, mebibytes) as loaded:
        time.sleep(2)
        alone = loaded.rate(3)
        sizes = [size_of(loaded)]
        cpu = time.process_time()
        while found.cycles < cycles:
            found.cycles += 1
            say(f"recording {found.cycles} of {cycles}")
            try:
                record_once(loaded, Wanted(depth=depth, every=every), seconds, found)
            except SimallocError as error:
                found.errors.append(str(error))
            sizes.append(size_of(loaded))
        cpu = time.process_time() - cpu
        after = loaded.rate(3)
    click.echo(f"{found.cycles} recordings of {threads} threads, {found.records:,} records, "
               f"{found.start_bytes / 2**20:.0f} MiB live at the start")  # fmt: skip
    click.echo(f"errors {len(found.errors)}, events of unknown blocks {found.misfits}")
    click.echo(f"pause: median {1e3 * median(found.pauses or [0.0]):.0f} ms, "
               f"longest {1e3 * max(found.pauses, default=0.0):.0f} ms")  # fmt: skip
    click.echo(f"blocks per second: {alone:,.0f} before, {median(found.rates or [0.0]):,.0f} "
               f"while recorded, {after:,.0f} afterwards")  # fmt: skip
    click.echo(f"mappings and resident memory: {sizes[0]} before, {sizes[1]} after the first "
               f"recording, {sizes[-1]} after the last")  # fmt: skip
    click.echo(f"CPU per cycle: {1e3 * cpu / max(found.cycles, 1):.0f} ms, reading included")
    for text in dict.fromkeys(found.errors):
        click.echo(text)


if __name__ == "__main__":
    main()
