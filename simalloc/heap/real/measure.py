"""What real allocators need for a trace: memory and time."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from simalloc.heap.real.allocators import GLIBC
from simalloc.heap.real.process import PeakMemory, columns_of, native_process
from simalloc.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simalloc.heap.real.allocators import Allocator
    from simalloc.heap.real.process import Columns

REPEATS: Final = 5


@dataclass(frozen=True)
class NativeRun:
    """One trace through one real allocator; memory in bytes.

    `peak` is what the process had from the system, less what a process has that never calls malloc;
    `start` is the part of it that the library takes when it is loaded. With `touch` the trace's
    blocks were written to. `seconds` is the time of the processor, pass by pass, in a process that
    had made one pass before.
    """

    trace: str
    allocator: str
    library: str
    touch: bool
    events: int
    max_live_bytes: int
    start: PeakMemory
    peak: PeakMemory
    seconds: tuple[float, ...]

    @property
    def nanoseconds(self) -> float | None:
        """Nanoseconds an event, the median of the passes; None without events."""
        return 1e9 * median(self.seconds) / self.events if self.events else None


def replay_natively(
    trace: Trace,
    allocators: Sequence[Allocator],
    *,
    touch: bool = True,
    repeats: int = REPEATS,
    progress: Callable[[int], None] | None = None,
) -> list[NativeRun]:
    """Replay a trace through real allocators, each in processes of its own.

    With `touch` every block is written to when it is allocated, one byte in every 64. Alignments
    that the trace has are not asked for. `progress` is called with the number of passes done
    since its last call, of `passes(repeats)` an allocator.

    Raises `SimallocError` if an allocator cannot be loaded, refuses an event or fails.
    """
    live = int(trace.stretch.live.max(initial=0))

    def step() -> None:
        if progress is not None:
            progress(1)

    with columns_of(trace) as columns, columns_of(Trace.from_events([], [], [])) as nothing:
        rest = _memory(nothing, GLIBC, touch=touch)[1]
        runs = []
        for allocator in allocators:
            start = _beyond(rest, _memory(nothing, allocator, touch=touch)[1])
            library, peak = _memory(columns, allocator, touch=touch)
            step()
            seconds = _seconds(columns, allocator, touch=touch, repeats=repeats, step=step)
            runs.append(
                NativeRun(
                    trace=trace.name,
                    allocator=allocator.name,
                    library=library,
                    touch=touch,
                    events=len(trace),
                    max_live_bytes=live,
                    start=start,
                    peak=_beyond(rest, peak),
                    seconds=seconds,
                )
            )
    return runs


def passes(repeats: int) -> int:
    """Return how often `replay_natively` replays the trace through each allocator."""
    return repeats + 2


def _memory(columns: Columns, allocator: Allocator, *, touch: bool) -> tuple[str, PeakMemory]:
    """Measure a first pass: a peak of a later one would include what the earlier left behind."""
    with native_process(columns, allocator, touch=touch) as process:
        return process.library, process.peak_memory()


def _seconds(
    columns: Columns,
    allocator: Allocator,
    *,
    touch: bool,
    repeats: int,
    step: Callable[[], None],
) -> tuple[float, ...]:
    """Time passes in a process that has made one, in which its memory came from the system."""
    seconds = []
    with native_process(columns, allocator, touch=touch) as process:
        for _ in range(repeats + 1):
            seconds.append(process.time_pass().cpu)
            step()
    return tuple(seconds[1:])


def _beyond(rest: PeakMemory, memory: PeakMemory) -> PeakMemory:
    """Subtract; the kernel's figures of two processes at rest may differ by a page or two."""
    return PeakMemory(*(max(0, own - base) for own, base in zip(memory, rest, strict=True)))
