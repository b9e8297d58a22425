"""Memory and time that real allocators need for a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.heap.footprint import Footprint
from simalloc.heap.real.allocators import GLIBC, Allocator
from simalloc.heap.real.process import Columns, Memory, columns_of, native_process
from simalloc.heap.running.run_from_states import footprint_of_states
from simalloc.trace import Trace

_TIMED: Final = 10_000
"""Minimum number of events for which the time is meaningful."""

REPEATS: Final = 5


class AtStart(NamedTuple):
    """Bytes mapped and resident after a library is loaded, before the first event."""

    mapped: int
    resident: int


@dataclass(frozen=True)
class NativeRun:
    """One trace through one real allocator; memory in bytes.

    `mapped` and `resident` are the process's memory from the system after each event, minus the
    memory of a process that never calls malloc. `start` is the part that the library takes when it
    is loaded. `peak_space` is the maximum of address space, reserved or in use. With `touch` the
    trace's blocks were written. `threads` real threads replayed the trace; `threads_known` is true
    if the trace contains the thread of each event. `seconds` is the processor time of each pass
    (with several threads, the clock time within them), in a process that had already made one pass.
    """

    trace: str
    allocator: str
    library: str
    touch: bool
    events: int
    threads: int
    threads_known: bool
    max_live_bytes: int
    start: AtStart
    mapped: Footprint
    resident: Footprint
    peak_space: int
    seconds: tuple[float, ...]

    @property
    def nanoseconds(self) -> float | None:
        """Median nanoseconds per event, or None if the trace has too few events."""
        return 1e9 * float(np.median(self.seconds)) / self.events if self.events >= _TIMED else None


def replay_natively(
    trace: Trace,
    allocators: Sequence[Allocator],
    *,
    touch: bool = True,
    repeats: int = REPEATS,
    progress: Callable[[int], None] | None = None,
) -> list[NativeRun]:
    """Replay a trace through real allocators, each in separate processes.

    With `touch` every block is written when it is allocated, one byte in every 64. Each of the
    trace's threads is a real thread; one thread at a time works, in the trace's order. `progress`
    is called with the number of passes since its last call; each allocator makes `passes(repeats)`
    passes.

    Raises `SimallocError` if an allocator cannot be loaded, refuses an event or fails, or if the
    trace would exhaust the free memory.
    """

    def step() -> None:
        if progress is not None:
            progress(1)

    with columns_of(trace) as columns, columns_of(Trace.from_events([], [], [])) as nothing:
        rest = _memory(nothing, GLIBC, touch=touch)[1]
        runs = []
        for allocator in allocators:
            library, memory = _memory(columns, allocator, touch=touch)
            step()
            seconds = _seconds(columns, allocator, touch=touch, repeats=repeats, step=step)
            start = _at_start(memory, rest)
            runs.append(
                NativeRun(
                    trace=trace.name,
                    allocator=str(allocator),
                    library=library,
                    touch=touch,
                    events=len(trace),
                    threads=columns.threads,
                    threads_known=trace.thread is not None,
                    max_live_bytes=int(trace.replayed.live.max(initial=0)),
                    start=start,
                    mapped=_footprint(trace, memory.samples[:, [0, 1]], start.mapped),
                    resident=_footprint(trace, memory.samples[:, [0, 2]], start.resident),
                    peak_space=max(0, memory.peak_space - rest.peak_space),
                    seconds=seconds,
                )
            )
    return runs


def _at_start(memory: Memory, rest: Memory) -> AtStart:
    """Return the bytes that a loaded library takes beyond `rest`, a process without malloc."""
    mapped, resident = rest.start.tolist()
    if memory.is_counted_by_kernel:  # the C library's malloc reports its own bytes in `rest`
        mapped = rest.writable_at_start
    return AtStart(*np.maximum(0, memory.start - [mapped, resident]).tolist())


def _footprint(trace: Trace, samples: NDArray[np.int64], start: int) -> Footprint:
    """Return the footprint of samples (rows of event and bytes); `start` is the initial size."""
    event, size = samples.T
    beyond = np.maximum(0, size - size[0] + start)
    states = np.repeat(beyond, np.diff(np.append(event, len(trace))))[1:]
    return footprint_of_states(trace.replayed.live, states, trace.size, 1)


def passes(repeats: int) -> int:
    """Return the number of passes through each allocator by `replay_natively`."""
    return repeats + 2


def _memory(columns: Columns, allocator: Allocator, *, touch: bool) -> tuple[str, Memory]:
    """Measure a first pass; a later peak would include memory kept from earlier passes."""
    with native_process(columns, allocator, touch=touch) as process:
        return process.library, process.memory()


def _seconds(
    columns: Columns,
    allocator: Allocator,
    *,
    touch: bool,
    repeats: int,
    step: Callable[[], None],
) -> tuple[float, ...]:
    """Time passes in a process that has made one pass and therefore has its memory."""
    seconds = []
    with native_process(columns, allocator, touch=touch) as process:
        for _ in range(repeats + 1):
            seconds.append(process.time_pass().cpu)
            step()
    return tuple(seconds[1:])
