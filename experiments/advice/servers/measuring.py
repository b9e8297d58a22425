"""Records servers, predicts their memory, and then runs and measures them."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from experiments.advice.servers.heap import heap_bytes
from experiments.advice.servers.loads import Server, listening
from simalloc.advice import (
    Advice,
    Setting,
    advise,
    candidates,
    machine_of,
    recorded,
    settings_of,
)
from simalloc.errors import SimallocError
from simalloc.heap.real import installed
from simalloc.trace import Trace, read_trace

TIMES: Final = 3
"""Number of recordings of a server, and number of its runs under each setting."""
_DEFAULTS: Final = ("glibc", "jemalloc", "tcmalloc", "mimalloc")
_SOURCE: Final = Path(__file__).with_name("own_maps.c")
_CALM: Final = 0.3
"""Seconds for which a server may settle after its load."""
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measured:
    """One run of a server at the end of its load: bytes, seconds of CPU time, requests."""

    heap: int
    cpu: float
    requests: int
    failed: int
    seconds: float


@dataclass(frozen=True)
class Line:
    """A malloc and setting of a server: the heap at the end, predicted and in each run.

    There is one prediction per recording.
    """

    server: str
    malloc: str
    settings: str
    is_current: bool
    is_advised: bool
    predictions: Sequence[int]
    cost: float
    runs: Sequence[Measured]

    @property
    def predicted(self) -> float:
        """Median of the predictions."""
        return median(self.predictions)

    @property
    def held(self) -> float:
        """Median of the measured heaps."""
        return median(run.heap for run in self.runs)

    @property
    def cpu(self) -> float:
        """Median of the CPU seconds."""
        return median(run.cpu for run in self.runs)

    @property
    def rate(self) -> float:
        """Median of the requests per second."""
        return median(run.requests / run.seconds for run in self.runs)

    @property
    def failed(self) -> int:
        """Number of failed requests in all runs."""
        return sum(run.failed for run in self.runs)


@dataclass(frozen=True)
class Found:
    """Advice for a server, its number of events, and the predicted and measured lines."""

    events: int
    advice: Advice
    lines: Sequence[Line]


def measure_server(server: Server, report: Callable[[str], None]) -> Found:
    """Record a server, predict its heap, and run it `TIMES` times under each malloc and the advice.

    The advice is based on the first recording. Raises `SimallocError` if the server cannot be
    recorded or run.
    """
    with TemporaryDirectory(prefix="simalloc-") as folder:
        place = Path(folder)
        shim = built_shim(place)
        trace, *others = (record_server(server, place) for _ in range(TIMES))
        report(f"{server.name}: {len(trace):,} events")
        there = {allocator.name for allocator in installed()}
        tried = [one for one in candidates() if one.allocator in there]
        settings = settings_of(trace, tried, machine=machine_of(trace.provenance))
        advice = advise(trace, settings, recorded(trace.provenance))
        report(f"{server.name}: {advice.text}")
        lines = []
        for setting in _run_under(settings, advice):
            predicted = [setting, *(_again(other, setting) for other in others)]
            runs = [run_server(server, place, shim, setting.line) for _ in range(TIMES)]
            lines.append(_line(server, setting, advice, predicted, runs))
            report(f"{server.name} under {setting.candidate.name}: {lines[-1].held:,.0f}, "
                 f"predicted {lines[-1].predicted:,.0f}")  # fmt: skip
        return Found(len(trace), advice, lines)


def _run_under(settings: Sequence[Setting], advice: Advice) -> list[Setting]:
    """Return the mallocs at their defaults, and the advised settings."""
    return [
        one
        for one in settings
        if one.candidate.name in _DEFAULTS or (advice.line and one is advice.best)
    ]


def _again(trace: Trace, setting: Setting) -> Setting:
    """Return the same setting, computed from another recording."""
    used = [one for one in candidates() if one.allocator == recorded(trace.provenance).allocator]
    tried = [setting.candidate, *(one for one in used if one != setting.candidate)]
    return settings_of(trace, tried, machine=machine_of(trace.provenance))[0]


def _line(
    server: Server,
    setting: Setting,
    advice: Advice,
    predicted: Sequence[Setting],
    runs: Sequence[Measured],
) -> Line:
    return Line(
        server=server.name,
        malloc=setting.candidate.allocator,
        settings=setting.candidate.shown_settings,
        is_current=setting is advice.now,
        is_advised=bool(advice.line) and setting is advice.best,
        predictions=[int(one.resident.final_bytes) for one in predicted],
        cost=setting.cost.seconds,
        runs=runs,
    )


def built_shim(folder: Path) -> Path:
    """Compile the library that logs a server's own mappings, or raise `SimallocError`."""
    shim = folder / "own_maps.so"
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(shim), str(_SOURCE)]
    try:
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our sources
    except (OSError, subprocess.CalledProcessError) as error:
        raise SimallocError(f"{_SOURCE.name} cannot be compiled: {error}") from error
    return shim


def record_server(server: Server, place: Path) -> Trace:
    """Record a server, and return its trace up to the end of its load.

    The server is then terminated so that the recorder finds the bytes that were never written.
    """
    path = place / "server.npz"
    with TemporaryDirectory(prefix="simalloc-") as folder:
        record = [sys.executable, "-m", "simalloc", "record", "--times", "-o", str(path), "--"]
        with listening(server, Path(folder), record) as (process, port):
            server.load(Path(folder), port)
            time.sleep(_CALM)
            end = datetime.now(UTC)
            os.kill(_child_of(process.pid), signal.SIGTERM)
            process.wait(120)
    trace = read_trace(path)
    assert trace.time is not None, "it was recorded with times"
    since = end - datetime.fromisoformat(trace.provenance["started"])
    return trace.prefix(int(np.searchsorted(trace.time, since / timedelta(microseconds=1) * 1000)))


def run_server(server: Server, place: Path, shim: Path, line: str) -> Measured:
    """Run a server under a shell's settings line, and measure it at the end of its load."""
    given = dict(word.split("=", 1) for word in shlex.split(line.removeprefix("export ")))
    log = place / "own_maps.log"
    log.write_bytes(b"")
    preload = ":".join(filter(None, (str(shim), given.pop("LD_PRELOAD", ""))))
    given |= {"LD_PRELOAD": preload, "SIMALLOC_OWN_MAPS": str(log)}
    with (
        TemporaryDirectory(prefix="simalloc-") as folder,
        listening(server, Path(folder), variables=given) as (process, port),
    ):
        start = time.perf_counter()
        served = server.load(Path(folder), port)
        seconds = time.perf_counter() - start
        time.sleep(_CALM)
        return Measured(heap_bytes(process.pid, log), cpu_seconds(process.pid), *served, seconds)


def _child_of(process: int) -> int:
    """Return the only child of a process."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    if not children:
        raise SimallocError(f"process {process} has no child")
    return int(children[0])


def cpu_seconds(process: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
