"""Time and memory of importing a log far larger than any cache: a trace many times in a row.

`python -m benchmarks.large_import --times 30` takes 1.3 GB of disk. The import is a process of its
own, the command that users call; the log is removed afterwards.
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
"""Bytes from one made-up address to the next."""


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
    """Yield a trace again and again as a log; objects are numbered by their slots."""
    line = LINES[log_format]
    for _ in range(times):
        with TraceReader(trace) as reader:
            for chunk in reader.chunks():
                columns = (chunk.op.tolist(), chunk.slot.tolist(), chunk.size.tolist())
                yield "".join(map(line, *columns)).encode()


def write_log(path: Path, trace: Path, times: int, log_format: str) -> None:
    """Write such a log, compressed as its path's ending says."""
    with path.open("wb") as file:
        for block in compressed(log_of(trace, times, log_format), path.name):
            file.write(block)


@click.command()
@click.option("--trace", default="espresso", show_default=True, help="One that frees all it takes.")
@click.option("--times", default=30, show_default=True)
@click.option("--as", "log_format", type=click.Choice(list(LINES)), default="text")
@click.option("--ending", default="", help="How the log is compressed: .gz, .zst, .xz, .bz2.")
@click.option("--folder", type=click.Path(file_okay=False), help="For the log and the trace.")
def main(trace: str, times: int, log_format: str, ending: str, folder: str | None) -> None:
    """Print the cost of importing TRACE as a log, `times` times in a row."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        log, target = Path(place) / f"log{ending}", Path(place) / "trace.npz"
        # Former memory of this process would count as the import's.
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
