"""Each trace of the corpus through the installed glibc, and through its model."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from experiments.mallocs import REALLOC, SCALE
from experiments.shipped import shipped
from simalloc import read_trace
from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.heap.real import GLIBC, passes, replay_natively

if TYPE_CHECKING:
    from experiments.mallocs import Progress

ALIGNMENT: Final = 16
"""Bytes: that of every block."""

_REPEATS: Final = 1


@dataclass(frozen=True)
class Compared:
    """One trace: its peak of live bytes, and what glibc and its model had mapped at their peaks."""

    program: str
    events: int
    live: int
    real: int
    model: int
    threads: int
    aligned: bool
    """Whether an alignment is asked for that not every block has."""


def here() -> str:
    """Return the version of the glibc at hand; "" where the C library is another."""
    library, number = platform.libc_ver()
    return number if library == "glibc" else ""


def model() -> str:
    """Return the model of the glibc at hand. Raises `SimallocError` if there is none here."""
    if not here():
        raise SimallocError("the C library here is not glibc, so there is nothing to compare with")
    return f"ptmalloc:version={here()}"


def compare(program: str) -> Compared:
    """Replay a trace both ways, with the allocators' own reallocs."""
    trace = read_trace(program)
    real = replay_natively(trace, [GLIBC], repeats=_REPEATS)[0]
    run = simulate(trace, model(), scale=SCALE, realloc=REALLOC)
    return Compared(
        program,
        len(trace),
        run.max_live_bytes,
        int(real.mapped.peak_bytes),
        int(run.peak_heap_bytes),
        trace.threads,
        trace.alignment is not None and bool((trace.alignment > ALIGNMENT).any()),
    )


def measure(progress: Progress) -> list[Compared]:
    """Compare every shipped trace."""
    compared = []
    names = list(shipped())
    with progress("traces", len(names) * passes(_REPEATS)) as advance:
        for name in names:
            compared.append(compare(name))
            advance(passes(_REPEATS))
    return compared
