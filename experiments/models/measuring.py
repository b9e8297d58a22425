"""Each trace of the corpus through the installed mallocs and through their models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from experiments.mallocs import REALLOC, Progress, glibc_here
from experiments.shipped import shipped
from simalloc import read_trace
from simalloc.advice.releases import installed_release
from simalloc.errors import SimallocError
from simalloc.heap.real import find_allocators, passes, replay_natively
from simalloc.heap.running.setting import Setting
from simalloc.heap.watch.each_event import Watched
from simalloc.trace import Op, Trace

_REPEATS: Final = 0
"""Number of timed repetitions; this experiment measures no times."""


@dataclass(frozen=True)
class Malloc:
    """A malloc and its model, both configured so that no result depends on a clock.

    `reported` are the model's figures whose sum is the process's writable memory. If it is empty,
    that memory is the model's mapped bytes.
    """

    real: str
    model: str
    release: str
    reported: tuple[str, ...] = ()


MALLOCS: Final[Mapping[str, Malloc]] = {
    "glibc": Malloc("glibc", "ptmalloc:version=2.36", "2.36"),
    "jemalloc": Malloc(
        "jemalloc:dirty_decay_ms=-1",
        f"jemalloc:version=5.3.0,dirty_decay_ms=-1,cxx_pool=on,cores={os.cpu_count() or 1}",
        "5.3.0",
        ("mapped", "retained"),
    ),
    "tcmalloc": Malloc("tcmalloc", "tcmalloc:version=2.10", "2.10"),
    "mimalloc": Malloc(
        "mimalloc:allow_decommit=off",
        "mimalloc:version=2.0.9,allow_decommit=off",
        "2.0.9",
        ("committed",),
    ),
}


@dataclass(frozen=True)
class Memory:
    """Peak mapped bytes, and resident bytes at peak live and at the end."""

    mapped: int
    resident: int
    final: int

    def __sub__(self, other: Memory) -> Memory:
        return Memory(
            self.mapped - other.mapped, self.resident - other.resident, self.final - other.final
        )


@dataclass(frozen=True)
class Compared:
    """One trace: its peak live bytes, the process's memory, and the model's difference from it.

    `start` is the excess of a process over its model after one malloc of 8 bytes: libraries that
    are loaded with the malloc. It is subtracted from `real`.
    """

    malloc: str
    program: str
    events: int
    live: int
    start: Memory
    real: Memory
    missing: Memory


def installed_models() -> list[str]:
    """Return the mallocs that are installed in the release that their models follow."""
    here = {name: installed_release(name) for name in MALLOCS if name != "glibc"}
    here["glibc"] = glibc_here()
    # The file name of mimalloc's library contains only the first two numbers of its release.
    return [name for name in MALLOCS if here[name] and MALLOCS[name].release.startswith(here[name])]


def compare(malloc: str, program: str) -> Compared:
    """Replay a trace in the malloc and in its model, with the allocator's own reallocs."""
    trace = read_trace(program)
    start = _start(malloc)
    real = _real(malloc, trace) - start
    live = int(trace.replayed.live.max(initial=0))
    return Compared(malloc, program, len(trace), live, start, real, real - _model(malloc, trace))


@cache
def _start(malloc: str) -> Memory:
    """Return the excess of a process over its model after one malloc of 8 bytes."""
    one = Trace.from_events([Op.MALLOC], [0], [8])
    return _real(malloc, one) - _model(malloc, one)


def _real(malloc: str, trace: Trace) -> Memory:
    run = replay_natively(trace, find_allocators(MALLOCS[malloc].real), repeats=_REPEATS)[0]
    return Memory(
        int(run.mapped.peak_bytes),
        int(run.resident.bytes_at_max_live),
        int(run.resident.final_bytes),
    )


def _model(malloc: str, trace: Trace) -> Memory:
    setting = Setting.of(trace, MALLOCS[malloc].model, realloc=REALLOC, resident=True)
    watched = Watched(setting)
    places = [watched.names.index(name) for name in MALLOCS[malloc].reported]
    mapped: list[NDArray[np.int64]] = []
    resident: list[NDArray[np.int64]] = []
    for sight in watched.sights():
        mapped.append(sight.figures[:, places].sum(axis=1) if places else sight.mapped)
        resident.append(sight.resident)
    over_time = np.concatenate(resident)
    top = int(np.argmax(trace.replayed.live))
    return Memory(int(np.concatenate(mapped).max()), int(over_time[top]), int(over_time[-1]))


def measure(progress: Progress) -> list[Compared]:
    """Compare every shipped trace. Raise `SimallocError` if no modelled malloc is installed."""
    mallocs = installed_models()
    if not mallocs:
        raise SimallocError("no malloc is installed here in the release that its model follows")
    compared = []
    names = list(shipped())
    with progress("traces", len(names) * len(mallocs) * passes(_REPEATS)) as advance:
        for malloc in mallocs:
            for name in names:
                compared.append(compare(malloc, name))
                advance(passes(_REPEATS))
    return compared
