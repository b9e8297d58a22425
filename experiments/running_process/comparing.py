"""Records a server under load, and compares its heap with a model that starts from its heap."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final

import numpy as np
from numpy.typing import NDArray

from experiments.advice.servers.loads import Server, listening
from experiments.mallocs import model_of_glibc
from simalloc.errors import SimallocError
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay, strides
from simalloc.heap.start import Start
from simalloc.machine import core_count
from simalloc.process import LiveProcess, Snapshot, load_snapshot, take_snapshot
from simalloc.trace import EventSource, read_trace

MAPPED: Final = "mapped"
"""Name of the row for separately mapped blocks."""

_CALM: Final = 1.0
"""Seconds for which a server may settle after its load."""


@dataclass(frozen=True)
class Held:
    """Bytes of an arena, or of all separately mapped blocks."""

    mapped: int
    resident: int
    threads: int = 0
    """Number of threads that use the arena."""


@dataclass(frozen=True)
class Compared:
    """One run of a server: its heap at the start and at the end, and the model's heap at the end.

    Each of the three has one entry per arena, in the order of the arenas' creation, and one entry
    for the separately mapped blocks.
    """

    server: str
    events: int
    seconds: float
    """Length of the recording in seconds."""
    live_at_start: int
    """Live bytes when the recording began."""
    live: int
    """Live bytes at the end."""
    before: Mapping[str, Held]
    model: Mapping[str, Held]
    real: Mapping[str, Held]


def compare(server: Server, seconds: float, warm_up: float) -> Compared:
    """Run a server under its load, record it for some seconds, and replay the recording.

    The load runs for `warm_up` seconds before the recording. Raises `SimallocError` if the server
    cannot be run, recorded or modelled.
    """
    with (
        TemporaryDirectory(prefix="simalloc-") as name,
        listening(server, folder := Path(name)) as (process, port),
    ):
        _load(server, folder, port, warm_up)
        output = folder / "server.npz"
        with _recording(process.pid, output):
            began = time.monotonic()
            _load(server, folder, port, seconds)
            time.sleep(_CALM)
            took = time.monotonic() - began
            after = take_snapshot(LiveProcess(process.pid))
        before = load_snapshot(output.with_name("server.heap.npz"))
        start = Start.of(before)
        trace = start.before(read_trace(output))
        model, live = _modelled(trace, start)
    at_start = int(trace.provenance["live_at_start"]["bytes"])
    return Compared(
        server.name, len(trace), took, at_start, live, held_by(before), model, held_by(after)
    )


def _load(server: Server, folder: Path, port: int, seconds: float) -> None:
    """Repeat a server's load for some seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        server.load(folder, port)


@contextmanager
def _recording(process: int, output: Path) -> Iterator[None]:
    """Record a process while the block runs, and write the trace at the block's end."""
    words = [sys.executable, "-m", "simalloc", "record", "--pid", str(process), "-o", str(output)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as child:  # noqa: S603 - ours
        stream: IO[str] | None = child.stderr
        assert stream is not None, "it is a pipe"
        if "is recorded into" not in (line := stream.readline()):
            raise SimallocError(f"the server could not be recorded: {line.strip()}")
        try:
            yield
        finally:
            child.send_signal(signal.SIGINT)
            said = stream.read()
    if child.returncode:
        raise SimallocError(f"the recording failed: {said.strip()}")


def held_by(snapshot: Snapshot) -> dict[str, Held]:
    """Return the bytes of a process's arenas, in the order of the arenas' creation."""
    state = snapshot.state
    if state is None:
        raise SimallocError(f"an arena of {snapshot.name} could not be read")
    parts = {
        part.name: Held(part.bytes, part.resident or 0, part.threads or 0)
        for part in snapshot.parts
    }
    found = {}
    for number in range(len(state.arenas)):
        part = int(snapshot.blocks.arena[_first_in(snapshot, state.segments, number)])
        found[str(number)] = parts["main" if part == 0 else str(part)]
    return {**found, MAPPED: parts[MAPPED]}


def _first_in(snapshot: Snapshot, segments: NDArray[np.int64], arena: int) -> int:
    """Return the index of the first block in the first segment of an arena."""
    _, start, end, _ = segments[segments[:, 0] == arena][0]
    address = snapshot.blocks.address.astype(np.int64)
    return int(np.argmax((address >= start) & (address < end)))


def _modelled(trace: EventSource, start: Start) -> tuple[dict[str, Held], int]:
    """Return the model's arenas at the end of a trace, and the live bytes."""
    policy = f"{model_of_glibc()},cores={core_count()}"
    setting = Setting.of(trace, policy, start=start, resident=True)
    simulation = setting.simulation()
    for part in strides(setting.source, setting.columns):
        replay(simulation, part)
    figures = dict(zip(simulation.figure_names(), simulation.report(), strict=True))
    found = {
        str(number): Held(
            *(figures[f"{name}.{number}"] for name in ("system", "resident", "attached"))
        )
        for number in range(figures["arenas"])
    }
    all_mapped = int(simulation.figures()["mapped"]["final"])
    alone = Held(all_mapped - sum(one.mapped for one in found.values()), figures["resident_mapped"])
    return {**found, MAPPED: alone}, int(simulation.figures()["live"])
