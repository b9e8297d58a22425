"""Correctness of snapshots of a process under load, and their cost to the process.

The benchmark takes many snapshots of a program whose threads allocate without a pause. Every
snapshot must walk every arena, and the figures of each arena must add up to its bytes.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from statistics import median
from tempfile import TemporaryDirectory

import click
import numpy as np

from benchmarks.command import say
from simalloc.errors import SimallocError
from simalloc.process import LiveProcess, ProcessError, Snapshot, take_snapshot
from simalloc.process.mappings import PAGE
from simalloc.process.region import ABSENT
from simalloc.process.target import runs_of


@dataclass
class Loaded:
    """A program under load."""

    child: subprocess.Popen[str]

    def rounds(self) -> int:
        """Return the number of blocks that the threads have allocated so far."""
        if self.child.stdin is None or self.child.stdout is None or self.child.poll() is not None:
            raise SimallocError("the program under load has ended")
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        return int(self.child.stdout.readline())

    def rate(self, seconds: float) -> float:
        """Return the blocks per second that the threads allocate in the next `seconds`."""
        before, began = self.rounds(), time.perf_counter()
        time.sleep(seconds)
        return (self.rounds() - before) / (time.perf_counter() - began)


@dataclass
class Outcome:
    """Totals of all snapshots: faults, pauses and times."""

    taken: int = 0
    errors: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    wrong_sums: int = 0
    arenas: int = 0
    arena_bytes: int = 0
    stops: int = 0
    pauses: list[float] = field(default_factory=list)
    """Longest pause of each snapshot, in seconds."""
    stopped: float = 0.0
    """Total time in which the process was stopped, in seconds."""
    waiting: float = 0.0
    """Part of `stopped` before all threads had stopped outside malloc, in seconds."""
    stopped_bytes: int = 0
    """Total bytes of arenas that were read while the process was stopped."""
    copying: list[float] = field(default_factory=list)
    """Time of copying 1 GiB of the program, in seconds, measured after each snapshot."""
    cpu: float = 0.0
    """CPU time of the reader, in seconds."""


@contextmanager
def started(name: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Compile a C program of this folder, and run it while the block runs."""
    compiler = which("cc")
    if compiler is None:
        raise SimallocError("there is no C compiler: install gcc")
    with TemporaryDirectory(prefix="simalloc-") as folder:
        program, source = Path(folder) / name, str(Path(__file__).with_name(f"{name}.c"))
        subprocess.run([compiler, "-O2", "-pthread", source, "-o", program], check=True)
        pipe = subprocess.PIPE
        with subprocess.Popen([program, *words], stdin=pipe, stdout=pipe, text=True) as child:
            try:
                yield child
            finally:
                child.kill()


@contextmanager
def under_load(threads: int, mebibytes: int) -> Iterator[Loaded]:
    """Run the program whose threads allocate without a pause while the block runs."""
    with started("snapshots", str(threads), str(mebibytes)) as child:
        yield Loaded(child)


def sums_agree(snapshot: Snapshot) -> bool:
    """Return whether the figures of each arena add up to its bytes and agree with its blocks.

    The bytes outside blocks and holes must be at most the bytes of tables.
    """
    blocks = snapshot.blocks
    for number, part in enumerate(snapshot.parts[:-1]):
        kinds = part.live + part.headers + part.tables + part.tcache + part.fastbin
        kinds += part.bins + part.top + part.holes
        mine = int(blocks.size[blocks.arena == number].sum())
        own = part.bytes - part.holes - mine
        if kinds != part.bytes or not 0 <= own <= part.tables:
            return False
    return True


def copying_time(number: int) -> float:
    """Return the time in which `process_vm_readv` alone copies 1 GiB of a process, in seconds.

    The process is stopped, and only its resident memory is copied, into memory that was touched.
    """
    process = LiveProcess(number)
    start, length = [], []
    for run in process.busy_runs():
        first, end = runs_of(process.pages(run.start, run.end) != ABSENT)
        start.append(run.start + PAGE * first)
        length.append(PAGE * (end - first))
    starts, lengths = (np.concatenate(one).astype(np.uint64) for one in (start, length))
    into = np.ones(int(lengths.sum()), np.uint8)
    with process.stopped([], []):
        began = time.perf_counter()
        process.copy(starts, lengths, np.cumsum(lengths) - lengths, into)
        seconds = time.perf_counter() - began
    return seconds / len(into) * 2**30


def examine(process: int, count: int, limit: float, *, compare: bool = False) -> Outcome:
    """Take up to `count` snapshots of a process in at most `limit` seconds.

    With `compare`, `copying_time` is measured after each snapshot.
    """
    found, until = Outcome(), time.monotonic() + limit
    while found.taken < count and time.monotonic() < until:
        found.taken += 1
        say(f"snapshot {found.taken} of {count}")
        began = time.process_time()
        try:
            snapshot = take_snapshot(LiveProcess(process))
        except ProcessError as error:
            found.errors.append(str(error))
            continue
        finally:
            found.cpu += time.process_time() - began
        found.problems += snapshot.problems
        found.wrong_sums += not sums_agree(snapshot)
        found.arenas = max(found.arenas, len(snapshot.parts) - 1)
        found.arena_bytes = max(found.arena_bytes, snapshot.total("bytes"))
        found.stops += snapshot.pauses.stops
        found.pauses.append(snapshot.pauses.longest)
        found.stopped += snapshot.pauses.total
        found.copying += [copying_time(process)] if compare else []
        found.waiting += snapshot.pauses.waiting
        found.stopped_bytes += snapshot.pauses.arena_bytes
    return found


@click.command()
@click.option("--snapshots", default=500, show_default=True)
@click.option("--threads", default=16, show_default=True)
@click.option("--mebibytes", default=64, show_default=True, help="Live memory of the program.")
@click.option("--limit", default=150.0, show_default=True, help="Maximum duration in seconds.")
def main(snapshots: int, threads: int, mebibytes: int, limit: float) -> None:
    """Take snapshots of a program under load, and count errors, wrong sums and pauses."""
    with under_load(threads, mebibytes) as loaded:
        time.sleep(2)
        free_rate = loaded.rate(3)
        before, began = loaded.rounds(), time.perf_counter()
        found = examine(loaded.child.pid, snapshots, limit, compare=True)
        seconds = time.perf_counter() - began
        rate = (loaded.rounds() - before) / seconds
    longest = max(found.pauses, default=0.0)
    click.echo(f"{found.taken} snapshots in {seconds:.0f} s: {threads} threads, "
               f"{found.arenas} arenas of {found.arena_bytes / 2**20:.0f} MiB at most")  # fmt: skip
    click.echo(f"errors {len(found.errors)}, wrong sums {found.wrong_sums}, "
               f"other problems {len(found.problems)}")  # fmt: skip
    click.echo(f"pause of a snapshot: median {1e3 * median(found.pauses or [0.0]):.1f} ms, "
               f"longest {1e3 * longest:.1f} ms; {found.stopped:.1f} s in total")  # fmt: skip
    gibibytes = max(found.stopped_bytes, 1) / 2**30
    reading = found.stopped - found.waiting
    click.echo("pause for 1 GiB of arenas read under a stop: "
               f"{1e3 * found.stopped / gibibytes:.0f} ms, {1e3 * reading / gibibytes:.0f} ms of "
               "it after all threads had stopped")  # fmt: skip
    click.echo(f"copying 1 GiB on this machine: {1e3 * median(found.copying or [0.0]):.0f} ms, "
               f"load {os.getloadavg()[0]:.0f}")  # fmt: skip
    click.echo(f"CPU per snapshot: {1e3 * found.cpu / max(found.taken, 1):.0f} ms")
    click.echo(f"blocks per second: {free_rate:,.0f} alone, {rate:,.0f} during the snapshots")
    for text in dict.fromkeys([*found.errors, *found.problems]):
        click.echo(text)


if __name__ == "__main__":
    main()
