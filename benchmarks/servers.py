"""`python -m benchmarks.servers`: the cost of recording servers, and a program of many threads.

MariaDB, Node and Java receive the load of `experiments.advice.servers`. In larson.c, each thread
starts its successor, and all replace blocks. The processor time of the process is read at the end
of the load. Each program runs alone and recorded in turn. The minimum of each way counts, because
other load on a shared machine only adds time. Servers that are not installed are skipped.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click

from benchmarks.command import run
from benchmarks.environment import environment
from experiments.advice.servers.loads import SERVERS, Server, free_port, wait_for
from experiments.advice.servers.measuring import cpu_seconds
from simalloc.trace.recorder.launch import preload_library, start
from simalloc.trace.recorder.wanted import DEPTH, EVENTS, Wanted

PROGRAM: Final = Path(__file__).with_name("larson.c")
MEASURED: Final = ("MariaDB", "Node service", "Java service")
WAYS: Final = {
    "alone": None,
    "recorded": EVENTS,
    "with times": Wanted(times=True),
    "with sites": Wanted(depth=1),
    "with stacks": Wanted(depth=DEPTH),
}


@click.command()
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True)
def main(*, repeats: int) -> None:
    """Print the processor time of programs alone and recorded."""
    for name, value in environment().items():
        print(f"{name}: {value}")
    print(f"load: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':<24}" + "".join(f"{way:>13}" for way in WAYS))
    for server in SERVERS:
        if server.name in MEASURED and server.is_installed:
            least(f"{server.name}, s", repeats, partial(of_server, server))
    with TemporaryDirectory() as folder:
        larson = Path(folder) / "larson"
        subprocess.run(["cc", "-O2", "-pthread", "-o", larson, PROGRAM], check=True)  # noqa: S607 - the C compiler
        least("larson, ns", repeats, partial(of_larson, larson))


def least(name: str, repeats: int, measured: Callable[[Wanted | None], float]) -> None:
    """Print the minimum of each way of running a program."""
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(repeats):
        for way, wanted in WAYS.items():
            times[way].append(measured(wanted))
    print(f"{name:<24}" + "".join(f"{min(each):>13.2f}" for each in times.values()), flush=True)


def of_server(server: Server, wanted: Wanted | None) -> float:
    """Return the processor time of a server at the end of its load, in seconds."""
    with TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        server.prepare(folder, port)
        with started([*server.command(folder, port)], folder, wanted) as process:
            wait_for(port, lambda: process.poll() is None)
            server.load(folder, port)
            seconds = cpu_seconds(process.pid)
            process.kill()
    return seconds


def of_larson(program: Path, wanted: Wanted | None) -> float:
    """Return the processor time per replacement in nanoseconds, as the program prints it."""
    with (
        TemporaryDirectory() as folder,
        started([str(program)], Path(folder), wanted, subprocess.PIPE) as process,
    ):
        output, _ = process.communicate()
    return float(output)


def started(
    command: list[str], folder: Path, wanted: Wanted | None, output: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start a program, which is recorded into a folder unless `wanted` is None."""
    if wanted is None:
        return subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
    recording = folder / "recording"
    recording.mkdir(mode=0o700)
    with preload_library() as library:
        return start(command, library, recording, wanted, stdout=output, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    run(main)
