"""Each recorded program with threads, under glibc's model and through the glibc at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from experiments.ptmalloc.measuring import version
from simalloc.errors import SimallocError
from simalloc.heap import simulate_all
from simalloc.heap.real import find_allocators, replay_natively
from simalloc.trace.catalogue import catalogue, load

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from simalloc.heap import Footprint

SETTINGS: Final = ("", "arena_max=2", "arena_max=1")
"""What is tried: the defaults, and two limits for the number of arenas."""

CORES: Final = 2
"""Of the machine that replays natively, which the number of arenas depends on."""


@dataclass(frozen=True)
class Compared:
    """One program under one setting: resident and mapped bytes, in the model and in glibc."""

    program: str
    threads: int
    settings: str
    live: int
    final_live: int
    model_mapped: Footprint
    model: Footprint
    real_mapped: Footprint
    real: Footprint


def measure(
    progress: Callable[[str, int], AbstractContextManager[Callable[[int], None]]],
) -> list[Compared]:
    """Compare every program. Raises `SimallocError` where the C library is not glibc."""
    if not version():
        raise SimallocError("the C library here is not glibc, so there is nothing to compare with")
    names = [name for name, entry in catalogue().items() if entry.for_threads]
    found = []
    with progress("programs with threads", len(names)) as advance:
        for name in names:
            found += compare(name)
            advance(1)
    return found


def compare(name: str) -> list[Compared]:
    """Return one program under each setting."""
    trace = load(name)
    here = f"version={'.'.join(map(str, version()))},cores={CORES}"
    policies = [f"ptmalloc:{','.join(filter(None, (here, each)))}" for each in SETTINGS]
    texts = [f"glibc:{each}" if each else "glibc" for each in SETTINGS]
    allocators = [allocator for text in texts for allocator in find_allocators(text)]
    runs = simulate_all(trace, policies, resident=True)
    reals = replay_natively(trace, allocators, repeats=1)
    assert trace.thread is not None, "they were recorded for their threads"
    threads = len(set(trace.thread.tolist()))
    return [
        Compared(
            name,
            threads,
            settings or "default",
            run.max_live_bytes,
            run.final_live_bytes,
            run.mapped,
            run.resident,
            real.mapped,
            real.resident,
        )
        for settings, run, real in zip(SETTINGS, runs, reals, strict=True)
        if run.resident is not None
    ]
