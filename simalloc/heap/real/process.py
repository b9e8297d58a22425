"""A process that replays a trace through its own malloc."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.files import naming
from simalloc.heap.real.allocators import PROGRAM, Allocator
from simalloc.memory import require_memory, room
from simalloc.signals import signal_name
from simalloc.trace import Trace
from simalloc.trace.provenance import has_thread_blocks
from simalloc.waiting import LOOK_SECONDS

_EVENT_BYTES: Final = 110
"""Resident bytes per event of a trace in memory, with the columns that processes inherit."""
_FAILURES: Final = {
    "refused": "{allocator} has no memory for event {event}, which requests {size} bytes",
    "full": "{allocator} had taken nearly all free memory before event {event}",
    "threadless": "the system refused to start a thread for event {event}",
}
"""Reasons why a pass ended early, by their words in program/main.c."""


class PassTime(NamedTuple):
    """Duration of one pass over the trace, in seconds of processor time and of clock time.

    With several threads, `cpu` is the clock time within the threads, without switches between them.
    """

    cpu: float
    wall: float


@dataclass(frozen=True, eq=False)
class Memory:
    """Memory that a process had from the system during one pass, in bytes.

    `samples` has a row for each event that changed a figure: the event (-1: before the first), the
    mapped bytes, and the resident bytes (int64). `peak_space` is the maximum of address space,
    reserved or in use. `writable_at_start` is the kernel's count of private writable memory before
    the first event, including the memory of the replaying program.
    """

    samples: NDArray[np.int64]
    peak_space: int
    writable_at_start: int

    @property
    def start(self) -> NDArray[np.int64]:
        """Bytes mapped and resident before the first event."""
        return self.samples[0, 1:]

    @property
    def is_counted_by_kernel(self) -> bool:
        """True if mapped bytes are the kernel's count, because the allocator reports none."""
        return int(self.samples[0, 1]) == self.writable_at_start


@dataclass(frozen=True)
class Columns:
    """Columns of a trace in a file that processes can inherit.

    `threads` is the number of threads of the trace, at least 1.
    """

    trace: Trace
    file: IO[bytes]
    threads: int
    has_alignments: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Parameters of the file that a process needs."""
        trace = self.trace
        starts = not has_thread_blocks(trace.provenance)
        return len(trace), trace.slots, self.threads, int(self.has_alignments), int(starts)


@contextmanager
def columns_of(trace: Trace) -> Iterator[Columns]:
    """Write a trace's columns to a temporary file, which is removed at the end of the block."""
    thread, threads = _numbered(trace)
    aligns = trace.alignment is not None and bool((trace.alignment > 1).any())
    columns: list[NDArray[Any]] = [trace.size, trace.slot, trace.op]
    if aligns:
        assert trace.alignment is not None
        columns.insert(1, trace.alignment)
    if threads > 1:
        columns.insert(-1, thread)
    require_memory(len(trace) * _EVENT_BYTES, f"{trace.name}: a replay by real allocators")
    with TemporaryFile(prefix="simalloc-") as file:
        with naming(gettempdir()):
            room_for = sum(column.nbytes for column in columns)
            os.posix_fallocate(file.fileno(), 0, max(1, room_for))
        for column in columns:
            column.tofile(file)
        file.flush()
        yield Columns(trace, file, threads, aligns)


def _numbered(trace: Trace) -> tuple[NDArray[np.uint32], int]:
    """Return the events' threads, numbered without gaps, and the number of threads.

    Thread 0 is the process's main thread. In a recorded program it is the first thread. Otherwise
    it is the thread with number 0, which exists even without events.
    """
    if trace.thread is None or not len(trace):
        return np.zeros(len(trace), np.uint32), 1
    own = trace.thread[0] if has_thread_blocks(trace.provenance) else 0
    others = np.setdiff1d(trace.thread, [own])
    number = np.searchsorted(others, trace.thread) + 1
    return np.where(trace.thread == own, 0, number).astype(np.uint32), len(others) + 1


def replay_command(
    columns: Columns, samples: IO[bytes], *, touch: bool, most: int = 0, program: str = PROGRAM
) -> list[str]:
    """Return the command of a replaying process, which must inherit both files.

    `samples` receives the measurements of memory, which stop at `most` resident bytes (0: never).
    """
    live = columns.trace.replayed.live
    after_max = int(np.argmax(live)) if len(live) else 0
    measuring = (samples.fileno(), most, after_max)
    numbers = (columns.file.fileno(), *columns.shape, int(touch), *measuring)
    return [program, *map(str, numbers)]


@contextmanager
def native_process(
    columns: Columns, allocator: Allocator, *, touch: bool
) -> Iterator[NativeProcess]:
    """Start a process with an allocator's malloc; the process ends with the block.

    With `touch` each block is written when it is allocated, one byte in every cache line of 64.
    Raises `SimallocError` if the allocator cannot be loaded or crashes the process, or if writing
    to the trace's live bytes would exhaust the free memory.
    """
    free = room()
    live = int(columns.trace.replayed.live.max(initial=0))
    if touch and free is not None and live > free:
        raise SimallocError(
            f"{columns.trace.name}: the trace has {live:,} bytes live at its peak, but only "
            f"{free:,} bytes of memory are available; `simalloc native --no-touch` replays "
            "it without writing to its objects"
        )
    with ExitStack() as stack:
        complaints, samples = (
            stack.enter_context(TemporaryFile(prefix="simalloc-")) for _ in range(2)
        )
        with _ctrl_c_waits():
            process = subprocess.Popen(  # noqa: S603 - our own program, and numbers
                replay_command(
                    columns, samples, touch=touch, most=free or 0, program=allocator.program
                ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                pass_fds=[columns.file.fileno(), samples.fileno()],
                process_group=0,  # protects the process from the terminal's Ctrl-C
                env={**os.environ, **allocator.environment},
            )
            stack.callback(_end, process)
        # If a trace touches more memory than exists, the system must kill this process first.
        with suppress(OSError):
            Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000")
        yield NativeProcess(columns.trace, allocator, process, samples, complaints)


def _end(process: subprocess.Popen[bytes]) -> None:
    with _ctrl_c_waits(), process:
        process.kill()


@contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block, so that no process is left unattended.

    Python delivers Ctrl-C only to the main thread, and only if it is not ignored.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


class NativeProcess:
    """A process that is ready to replay a trace, made by `native_process`.

    Its methods raise `SimallocError` if the allocator refuses an event or crashes the process.
    """

    def __init__(
        self,
        trace: Trace,
        allocator: Allocator,
        process: subprocess.Popen[bytes],
        samples: IO[bytes],
        complaints: IO[bytes],
    ) -> None:
        self._trace = trace
        self._allocator = allocator
        self._process = process
        self._samples = samples
        self._complaints = complaints
        origin, _, library = self._read_line().partition(" ")
        self.library: Final = library
        """Path of the library that provides malloc."""
        self._check_origin(origin)
        self._check_settings()

    def time_pass(self) -> PassTime:
        """Replay the trace once; then everything is freed, outside the measured time."""
        cpu, wall = self._ask(b"t")
        return PassTime(cpu / 1e9, wall / 1e9)

    def memory(self) -> Memory:
        """Replay the trace once, slowly, while observing the process's memory from the system."""
        peak_space, writable_at_start = self._ask(b"m")
        self._samples.seek(0)
        samples = np.frombuffer(self._samples.read(), np.int64).reshape(-1, 3)
        return Memory(samples, peak_space, writable_at_start)

    def _ask(self, command: bytes) -> list[int]:
        assert self._process.stdin is not None
        self._process.stdin.write(command)
        self._process.stdin.flush()
        word, *figures = self._read_line().split()
        if word in _FAILURES:
            event = int(figures[0])
            why = _FAILURES[word].format(
                allocator=self._allocator, event=event, size=int(self._trace.size[event])
            )
            raise SimallocError(f"{self._trace.name}: {why}")
        if word == "unmeasurable":
            raise SimallocError(
                "this system does not report the memory of a process "
                "(/proc/self/status, maps, statm and smaps_rollup)"
            )
        return [int(figure) for figure in figures]

    def _check_origin(self, origin: str) -> None:
        """Raise if another library has malloc; the linker ignores libraries that fail to load."""
        name, preload = self._allocator.name, self._allocator.preload
        if origin == "preloaded" and not preload:
            raise SimallocError(
                f"{name}: {self.library} replaces the C library's malloc in every process here; "
                "see /etc/ld.so.preload"
            )
        if origin == "system" and preload:
            said = self._said()
            why = (
                f"the dynamic linker did not load it: {said}"
                if said
                else "it does not define malloc"
            )
            raise SimallocError(f"{preload} cannot replace malloc: {why}")

    def _check_settings(self) -> None:
        """Raise if the allocator reported an invalid setting, or if its library lacks the name.

        Mallocs ignore unknown settings; mimalloc and tcmalloc do so without a message.
        """
        said = self._said()
        if "invalid" in said.lower():
            raise SimallocError(f"{self._allocator}: {said}")
        own = [name for name, _ in self._allocator.settings if name.islower()]
        if not own or not self._allocator.preload:
            return
        library = Path(self.library).read_bytes()
        for name in own:
            prefixed = f"{self._allocator.name}_{name}".upper()
            if not any(f"{known}\0".encode() in library for known in (name, prefixed)):
                raise SimallocError(f"{self._allocator}: {self.library} has no setting {name!r}")

    def _read_line(self) -> str:
        assert self._process.stdout is not None
        _wait_for(self._process.stdout)
        line = self._process.stdout.readline()
        if line:
            return line.decode().rstrip("\n")
        code = self._process.wait()
        how = f"was killed by {signal_name(-code)}" if code < 0 else f"ended with {code}"
        said = self._said()
        killed = ", perhaps for lack of memory" if code == -signal.SIGKILL else ""
        why = f": {said}" if said else killed
        raise SimallocError(f"{self._trace.name}: the process with {self._allocator} {how}{why}")

    def _said(self) -> str:
        """Return the last line that the process wrote to stderr."""
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def _wait_for(stream: IO[bytes]) -> None:
    """Wait until a pipe is readable; no buffer may hold bytes read in advance."""
    waiting = select.poll()
    waiting.register(stream, select.POLLIN)
    while not waiting.poll(1000 * LOOK_SECONDS):
        pass
