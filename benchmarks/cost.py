"""Cost of one event in the steady state of a large heap, in time and in memory."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import cast

import click
import numpy as np

from benchmarks.steady import SEED, Kind, Steady, steady
from simalloc.heap import Realloc
from simalloc.heap._core import Simulation
from simalloc.heap.real import GLIBC, columns_of, native_process
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay
from simalloc.policy import Policy, find_policy, spell
from simalloc.trace import Trace


@dataclass(frozen=True)
class Cost:
    """Median CPU time per event over the repeats, with `size` live objects or free blocks.

    `free_blocks` is the mean number of free blocks in the steady state, or None if it is unknown.
    """

    kind: Kind
    size: int
    contestant: str
    nanoseconds: float
    free_blocks: float | None = None


def cost_of_policy(made: Steady, policy: Policy, kind: Kind, size: int, repeats: int) -> Cost:
    """Measure a policy in the steady state alone, including measures and timeline."""
    times, free_blocks = zip(*(_turns(made, policy) for _ in range(repeats)), strict=True)
    return Cost(kind, size, spell(policy), median(times), free_blocks[0])


def cost_of_glibc(made: Steady, kind: Kind, size: int, repeats: int) -> Cost:
    """Measure glibc on the whole trace and on the ramp alone, and return the difference."""
    whole, ramp = (
        _pass_of_glibc(trace, repeats) for trace in (made.trace, made.trace.prefix(made.ramp))
    )
    return Cost(kind, size, "glibc", 1e9 * (whole - ramp) / (len(made.trace) - made.ramp))


def cost_of_cache_lines(kind: Kind, size: int, turns: int, repeats: int) -> Cost:
    """Measure the time per event to read one of `size` cache lines of 64 bytes at random.

    No read depends on another read, so the processor cannot read faster.
    """
    lines = np.ones((size, 8))
    order = np.random.default_rng(SEED).integers(0, size, turns)
    times = []
    for _ in range(repeats):
        started = time.thread_time()
        lines[order, 0].sum()
        times.append(1e9 * (time.thread_time() - started) / turns)
    return Cost(kind, size, "one cache line", median(times))


def bytes_a_live_object(kind: Kind, size: int, policy: Policy) -> float:
    """Return the growth of a simulation's resident memory per live object, in a child process.

    If the C library kept memory that numpy has freed, the simulation could reuse it, and the growth
    would be too low. The child process therefore trims its heap, and a fixed mmap threshold makes
    the C library unmap large blocks.
    """
    command = [sys.executable, "-m", "benchmarks.cost", kind, str(size), spell(policy)]
    fixed = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(128 << 10)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=fixed)
    return float(done.stdout)


def _turns(made: Steady, policy: Policy) -> tuple[float, float]:
    """Return nanoseconds per event and the mean number of free blocks in the steady state."""
    simulation = _simulation(made.trace, policy)
    whole = made.trace.replayed
    replay(simulation, whole.part(0, made.ramp))
    turns = whole.part(made.ramp, len(made.trace))
    before = simulation.figures()
    started = time.thread_time()
    replay(simulation, turns)
    taken = time.thread_time() - started
    after = simulation.figures()
    events = after["events"] - before["events"]
    free_blocks = after["sum_of_free_blocks"] - before["sum_of_free_blocks"]
    return 1e9 * taken / events, free_blocks / events


def _pass_of_glibc(trace: Trace, repeats: int) -> float:
    with (
        columns_of(trace) as columns,
        native_process(columns, GLIBC, touch=False) as process,
    ):
        process.time_pass()
        return median(process.time_pass().cpu for _ in range(repeats))


def _simulation(trace: Trace, policy: Policy) -> Simulation:
    return Setting.of(trace, policy, scale=16, realloc=Realloc.FREE_FIRST).simulation()


def _resident() -> int:
    """Return the resident bytes after the C library has returned its free memory."""
    ctypes.CDLL(None).malloc_trim(0)
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("Anonymous:"))


@click.command()
@click.argument("kind")
@click.argument("size", type=int)
@click.argument("policy")
def _measure_memory(kind: str, size: int, policy: str) -> None:
    """Print what `bytes_a_live_object` returns."""
    made = steady(cast("Kind", kind), size, 0)
    simulation, events = _simulation(made.trace, find_policy(policy)), made.trace.replayed
    before = _resident()
    replay(simulation, events)
    live = np.count_nonzero(made.trace.op == 0) - np.count_nonzero(made.trace.op == 1)
    click.echo((_resident() - before) / live)


if __name__ == "__main__":
    _measure_memory()
