"""`python -m benchmarks.stream`: replay of a trace larger than memory, streamed from disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from benchmarks.command import policies_named, run, say, table_option, write_json
from benchmarks.turnover import write_turnover
from simalloc.heap import simulate_all
from simalloc.policy import spell
from simalloc.report import Format, Rounded, Table, write_table
from simalloc.report.table import Value
from simalloc.trace import open_trace


@dataclass(frozen=True)
class Pass:
    """Result of streaming a trace through policies in a separate process on `cores` cores.

    `wall` and `cpu` are seconds from opening the file to the last measure. `peak` is the peak of
    resident bytes, including the interpreter.
    """

    policies: list[str]
    cores: int
    events: int
    wall: float
    cpu: float
    peak: int


def stream(path: str, cores: int, policies: list[str]) -> Pass:
    """Stream a trace through policies in this process."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    wall, cpu = time.perf_counter(), time.process_time()
    source = open_trace(path)
    simulate_all(source, policies)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Pass(policies, cores, len(source), wall, cpu, _peak_resident())


def _peak_resident() -> int:
    """Return the peak resident bytes of this process (VmHWM, which exec sets to 0)."""
    status = Path("/proc/self/status").read_text("ascii")
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def stream_in_child(path: str, cores: int, policies: Sequence[str]) -> Pass:
    """Stream a trace through policies in a new process."""
    say(f"{len(policies)} policies on {cores} cores")
    program = (
        "import json, sys; from dataclasses import asdict; from benchmarks.stream import stream"
    )
    call = "print(json.dumps(asdict(stream(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))))"
    command = [sys.executable, "-c", f"{program}; {call}", path, str(cores), *policies]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Pass(**json.loads(done.stdout))


@click.command()
@click.argument("path", type=click.Path(dir_okay=False))
@click.option("--events", type=float, default=1e7, show_default=True)
@click.option("--live", type=float, default=1e6, show_default=True, help="Number of live objects.")
@click.option("--policies", default="first-fit-ao,best-fit-lifo", show_default=True)
@click.option("--cores", default="1,2", show_default=True, help="Numbers of cores, in turn.")
@click.option("--repeats", type=click.IntRange(min=1), default=1, show_default=True)
@table_option
@click.option("--json", "target", type=click.Path(dir_okay=False), help="JSON file of all figures.")
def main(
    *,
    path: str,
    events: float,
    live: float,
    policies: str,
    cores: str,
    repeats: int,
    table_format: Format,
    target: str | None,
) -> None:
    """Stream a trace from PATH through each policy alone, and through all side by side.

    Without a file at PATH, a trace with these events and live objects is written there first.
    """
    if not Path(path).exists():
        write_turnover(path, int(events), int(live), lambda done: say(f"{done:,} events written"))
    named = [spell(policy) for policy in policies_named(policies)]
    groups = [[name] for name in named] + ([named] if len(named) > 1 else [])
    passes = [
        stream_in_child(path, int(count), group)
        for _ in range(repeats)
        for group in groups
        for count in cores.split(",")
    ]
    write_table(_table(passes), table_format, sys.stdout)
    if target is not None:
        write_json(target, {"passes": [asdict(one) for one in passes]})


def _table(passes: Sequence[Pass]) -> Table:
    columns = ("", "cores", "seconds", "million events/s", "ns of CPU per event", "peak MB")
    rows: list[list[Value]] = []
    for one in passes:
        replayed = one.events * len(one.policies)
        name = one.policies[0] if len(one.policies) == 1 else f"{len(one.policies)} side by side"
        figures = (replayed / one.wall / 1e6, 1e9 * one.cpu / replayed, one.peak / 1e6)
        rows.append([name, one.cores, Rounded(one.wall, 1), *(Rounded(x, 1) for x in figures)])
    return Table(f"{passes[0].events:,} events", columns, rows)


if __name__ == "__main__":
    run(main)
