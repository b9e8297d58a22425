"""Time and memory of importing a log that is far larger than any cache.

The log repeats a trace many times. `python -m benchmarks.large_import --times 30` needs 1.3 GB on
disk, and removes the log at the end. The import runs as a command in a separate process.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from simalloc.trace import Op, TraceReader
from simalloc.trace.catalogue import find_trace
from simalloc.trace.formats.stream import compressed

_PLACE = 1 << 20
"""Distance between two invented addresses, in bytes."""


def text_of(op: int, number: int, size: int) -> str:
    """Return an event as plain text."""
    return f"f {number}\n" if op == Op.FREE else f"{'m-r'[op]} {number} {size}\n"


def mtrace_of(op: int, number: int, size: int) -> str:
    """Return an event as glibc's mtrace writes it."""
    address, caller = _PLACE * (number + 1), f"@ ./program:(call+{size:#x})[0x401000] "
    if op == Op.REALLOC:
        return f"{caller}< {address:#x}\n{caller}> {address:#x} {size:#x}\n"
    return f"{caller}+ {address:#x} {size:#x}\n" if op == Op.MALLOC else f"{caller}- {address:#x}\n"


def valgrind_of(op: int, number: int, size: int) -> str:
    """Return an event as valgrind writes it."""
    address = _PLACE * (number + 1)
    call = {
        Op.MALLOC: f"malloc({size}) = 0x{address:X}",
        Op.FREE: f"free(0x{address:X})",
        Op.REALLOC: f"realloc(0x{address:X},{size}) = 0x{address:X}",
    }
    return f"--1-- {call[Op(op)]}\n"


LINES = {"text": text_of, "mtrace": mtrace_of, "valgrind": valgrind_of}


def log_of(trace: Path, times: int, log_format: str) -> Iterator[bytes]:
    """Yield the lines of a trace `times` times; objects are numbered by their slots."""
    line = LINES[log_format]
    for _ in range(times):
        with TraceReader(trace) as reader:
            for chunk in reader.chunks():
                columns = (chunk.op.tolist(), chunk.slot.tolist(), chunk.size.tolist())
                yield "".join(map(line, *columns)).encode()


def write_log(path: Path, trace: Path, times: int, log_format: str) -> None:
    """Write a log that repeats a trace, compressed according to the ending of its path."""
    with path.open("wb") as file:
        for block in compressed(log_of(trace, times, log_format), path.name):
            file.write(block)


@click.command()
@click.option(
    "--trace", default="espresso", show_default=True, help="Trace that frees all objects."
)
@click.option("--times", default=30, show_default=True)
@click.option("--as", "log_format", type=click.Choice(list(LINES)), default="text")
@click.option("--ending", default="", help="Compression of the log: .gz, .zst, .xz or .bz2.")
@click.option("--folder", type=click.Path(file_okay=False), help="Folder of the log and the trace.")
def main(trace: str, times: int, log_format: str, ending: str, folder: str | None) -> None:
    """Print the cost of importing TRACE as a log, `times` times in a row."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        log, target = Path(place) / f"log{ending}", Path(place) / "trace.npz"
        # In this process, the log's memory would count in the peak memory of the import.
        process = multiprocessing.get_context("spawn").Process(
            target=write_log, args=(log, Path(find_trace(trace)), times, log_format)
        )
        process.start()
        process.join()
        command = [sys.executable, "-m", "simalloc", "import", str(log), "-o", str(target)]
        child = subprocess.Popen(command)
        _, status, used = os.wait4(child.pid, 0)
        if status:
            sys.exit(1)
        with TraceReader(target) as reader:
            events = reader.header.totals.events
        seconds = used.ru_utime + used.ru_stime
        click.echo(
            f"{log_format}{ending}: {events:,} events, {log.stat().st_size / 1e6:,.0f} MB: "
            f"{seconds:.1f} s of CPU, {events / seconds / 1e6:.1f} million events a second, "
            f"at most {used.ru_maxrss / 1e3:,.0f} MB resident"
        )


if __name__ == "__main__":
    main()
