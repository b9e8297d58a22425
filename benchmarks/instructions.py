"""Counts instructions per event by callgrind, a figure that the machine's load cannot change."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Final

import click

from simalloc.errors import SimallocError
from simalloc.heap.real import Allocator, columns_of, replay_command
from simalloc.heap.running.strides import STRIDE
from simalloc.heap.simulate import simulate
from simalloc.policy import Policy, spell
from simalloc.trace import Trace
from simalloc.trace.catalogue import load

EVENTS: Final = STRIDE
"""Number of replayed events of each trace; `simulate` passes a stride to the core in one call."""

_OURS: Final = "simulation_replay"
_ALLOCATORS: Final = "trace_run"
"""Functions in which instructions are counted, of simalloc and of the allocators' replay."""


def count(
    name: str, policies: Sequence[Policy], allocators: Sequence[Allocator]
) -> dict[str, float]:
    """Return instructions per event by policy and allocator, over the first events of a trace.

    A policy's count includes its measures. An allocator's count is the count of its second pass.
    Raises `SimallocError` if callgrind is missing or fails.
    """
    trace = load(name).prefix(EVENTS)
    each = 1 / max(len(trace), 1)
    spelled = [spell(policy) for policy in policies]
    command = [sys.executable, "-m", "benchmarks.instructions", name, *spelled]
    calls, counts = _callgrind(_OURS, command)
    remaining = iter(counts)
    counted = {
        text: each * sum(islice(remaining, int(number)))
        for text, number in zip(spelled, calls.split(), strict=True)
    }
    return counted | {allocator.name: each * _native(trace, allocator) for allocator in allocators}


def _native(trace: Trace, allocator: Allocator) -> int:
    with columns_of(trace) as columns, TemporaryFile() as samples:
        command = replay_command(columns, samples, touch=False)
        files = (columns.file.fileno(), samples.fileno())
        _, (_, second) = _callgrind(_ALLOCATORS, command, b"tt", files, allocator.preload)
    return second


def _callgrind(
    function: str,
    command: Sequence[str],
    commands: bytes = b"",
    files: Sequence[int] = (),
    preload: str = "",
) -> tuple[str, list[int]]:
    """Return a command's output, and the number of instructions in each call of `function`."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise SimallocError("valgrind is not installed; Debian has it in the package valgrind")
    with TemporaryDirectory(prefix="simalloc-") as folder:
        counts = Path(folder) / "counts"
        options = [f"--callgrind-out-file={counts}"]
        options += [f"--{option}={function}" for option in ("toggle-collect", "dump-after")]
        result = subprocess.run(
            [valgrind, "--tool=callgrind", "--quiet", *options, *command],
            input=commands,
            capture_output=True,
            pass_fds=files,
            env={**os.environ, "LD_PRELOAD": preload},
            check=False,
        )
        dumps = sorted(Path(folder).glob("counts.*"), key=lambda path: int(path.suffix[1:]))
        if result.returncode or not dumps:
            raise SimallocError(f"callgrind failed: {result.stderr.decode(errors='replace')}")
        return result.stdout.decode(), [_total(dump) for dump in dumps]


def _total(dump: Path) -> int:
    lines = dump.read_text(encoding="utf-8", errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("totals:"))


@click.command()
@click.argument("trace")
@click.argument("policies", nargs=-1)
def _replay(trace: str, policies: Sequence[str]) -> None:
    """Replay a trace's first events under policies; callgrind runs this command.

    Prints the number of calls of the core for each policy. A slow policy needs several calls.
    """
    first = load(trace).prefix(EVENTS)
    for policy in policies:
        calls: list[int] = []
        simulate(first, policy, progress=calls.append)
        click.echo(len(calls))


if __name__ == "__main__":
    _replay()
