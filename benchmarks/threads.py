"""`python -m benchmarks.threads`: time of a program with many threads under the default policies.

The trace is generated from a seed. Each thread allocates objects of many sizes, and frees most of
them soon. Other threads free some of them, and some stay.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import click
import numpy as np

from benchmarks.command import policies_named, run, say, table_option
from simalloc.heap import simulate_all
from simalloc.heap.real import GLIBC, columns_of, native_process
from simalloc.policy import Policy, spell
from simalloc.report import Format, Rounded, Table, write_table
from simalloc.trace import Op, Trace

SEED: Final = 2026
TURN: Final = 60
"""Mean number of objects that a thread allocates in a row before another thread continues."""

HANDED_ON: Final = 0.1
"""Share of objects that another thread frees."""


def busy(events: int, threads: int) -> Trace:
    """Return a trace of `events` events, half of them mallocs, over all threads.

    Sizes and lifetimes are log-normal. Half of the objects have at most 64 bytes. Half of the
    objects are freed before another 150 objects are allocated, and one in 16 lives at least 100
    times as long.
    """
    random = np.random.default_rng(SEED)
    objects = events // 2
    born = np.arange(objects, dtype=np.float64)
    dies = born + 1 + random.lognormal(np.log(150), 3.0, objects)
    turns = random.random(objects) < 1 / TURN
    owner = random.integers(0, threads, objects)[np.maximum.accumulate(turns * np.arange(objects))]
    frees = np.where(
        random.random(objects) < HANDED_ON, random.integers(0, threads, objects), owner
    )
    order = np.argsort(np.concatenate((born, dies)), kind="stable")
    is_free = order >= objects
    number = order % objects
    size = random.lognormal(np.log(64), 1.0, objects).astype(np.int64) + 1
    return Trace.from_events(
        np.where(is_free, Op.FREE, Op.MALLOC).astype(np.uint8),
        number,
        np.where(is_free, 0, size[number]),
        thread=np.where(is_free, frees[number], owner[number]).astype(np.uint32),
        name="busy",
    )


def seconds(trace: Trace, policies: list[Policy], repeats: int, *, resident: bool) -> float:
    """Return the minimum user CPU time of one pass under all policies, in seconds."""
    took = []
    for repeat in range(repeats):
        say(f"{', '.join(map(spell, policies))[:50]}: {repeat + 1} of {repeats}")
        started = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        simulate_all(trace, policies, resident=resident)
        took.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - started)
    return min(took)


@contextmanager
def glibc_in_one_thread(trace: Trace) -> Iterator[Callable[[], float]]:
    """Start glibc; each call of the result replays all events and returns the seconds of CPU."""
    with (
        columns_of(replace(trace, thread=None)) as columns,
        native_process(columns, GLIBC, touch=False) as process,
    ):
        process.time_pass()
        yield lambda: process.time_pass().cpu


@click.command()
@click.option("--events", type=click.IntRange(min=2), default=5_000_000, show_default=True)
@click.option("--threads", type=click.IntRange(min=1), default=16, show_default=True)
@click.option(
    "--policies", default="@default", show_default=True, help="Names, with semicolons or commas."
)
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True)
@table_option
def main(*, events: int, threads: int, policies: str, repeats: int, table_format: Format) -> None:
    """Measure the replay of a program with threads, without and with resident bytes.

    Times are user CPU time, the minimum of the repeats. After each policy, glibc replays the events
    once in one thread, without touching the blocks. With a token passed from thread to thread,
    glibc would take many times as long.
    """
    described = policies_named(policies)
    trace = busy(events, threads)
    _ = trace.replayed  # computed once for all policies
    took = {}
    passes = []
    with glibc_in_one_thread(trace) as time_glibc:
        for policy in described:
            mapped = seconds(trace, [policy], repeats, resident=False)
            took[spell(policy)] = mapped, seconds(trace, [policy], repeats, resident=True)
            passes.append(time_glibc())
    glibc = min(passes)
    rows: list[list[str | Rounded]] = [
        [
            name,
            *(Rounded(1e9 * each / events, 0) for each in times),
            *(Rounded(each / glibc, 2) for each in times),
        ]
        for name, times in took.items()
    ]
    together = seconds(trace, described, repeats, resident=True)
    columns = ("policy", "ns per event", "with resident", "by glibc", "with resident, by glibc")
    notes = (
        f"{events:,} events, {threads} threads, at most {trace.slots:,} live objects.",
        "with resident: resident bytes too. by glibc: divided by glibc's time.",
        f"All {len(described)} policies together, mapped and resident: {together:.1f} s of CPU.",
        f"glibc, one thread: {1e9 * glibc / events:.0f} ns per event.",
    )
    title = "Nanoseconds of CPU per event, with threads"
    write_table(Table(title, columns, rows, notes), table_format, sys.stdout)


if __name__ == "__main__":
    run(main)
