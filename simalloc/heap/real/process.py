"""A process that replays a trace through the malloc it was started with."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from simalloc.errors import SimallocError
from simalloc.waiting import LOOK_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simalloc.heap.real.allocators import Allocator
    from simalloc.trace import Trace

PROGRAM: Final = str(files("simalloc.heap.real") / "simalloc-native")


class PassTime(NamedTuple):
    """How long one pass over the trace took, in seconds: of the processor, and on the clock."""

    cpu: float
    wall: float


class PeakMemory(NamedTuple):
    """The most bytes that were mapped from the system, and that were resident, in one pass."""

    mapped: int
    resident: int


@dataclass(frozen=True)
class Columns:
    """The columns of a trace in a file that processes can inherit."""

    trace: Trace
    file: IO[bytes]


@contextmanager
def columns_of(trace: Trace) -> Iterator[Columns]:
    """Write a trace's columns to a temporary file, which is gone at the end of the block."""
    with TemporaryFile(prefix="simalloc-") as file:
        for column in (trace.size, trace.slot, trace.op):
            column.tofile(file)
        file.flush()
        yield Columns(trace, file)


def replay_command(columns: Columns, *, touch: bool) -> list[str]:
    """Return the command of a process that replays; it has to inherit the columns' file."""
    trace = columns.trace
    sizes = (columns.file.fileno(), len(trace), trace.slots, int(touch))
    return [PROGRAM, *map(str, sizes)]


@contextmanager
def native_process(
    columns: Columns, allocator: Allocator, *, touch: bool
) -> Iterator[NativeProcess]:
    """Start a process whose malloc is that of an allocator; it ends with the block.

    With `touch` each block is written to when it is allocated, one byte in every cache line of 64.
    Raises `SimallocError` if the allocator cannot be loaded or brings the process down.
    """
    with TemporaryFile(prefix="simalloc-") as complaints, ExitStack() as stack:
        with _ctrl_c_waits():
            process = subprocess.Popen(  # noqa: S603 - our own program, and numbers
                replay_command(columns, touch=touch),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                pass_fds=[columns.file.fileno()],
                process_group=0,  # the terminal's Ctrl-C is for this process alone
                env={**os.environ, "LD_PRELOAD": allocator.preload},
            )
            stack.callback(_end, process)
        # If a trace touches more memory than there is, this is the process that is to go.
        with suppress(OSError):
            Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000")
        yield NativeProcess(columns.trace, allocator, process, complaints)


def _end(process: subprocess.Popen[bytes]) -> None:
    with _ctrl_c_waits(), process:
        process.kill()


@contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block, which it would leave with a process unattended.

    Python tells the main thread alone of it, and only where it is not ignored.
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
    """A process ready to replay a trace; `native_process` makes it.

    Its methods raise `SimallocError` if the allocator refuses an event or brings the process down.
    """

    def __init__(
        self,
        trace: Trace,
        allocator: Allocator,
        process: subprocess.Popen[bytes],
        complaints: IO[bytes],
    ) -> None:
        self._trace = trace
        self._allocator = allocator
        self._process = process
        self._complaints = complaints
        origin, _, library = self._read_line().partition(" ")
        self.library: Final = library
        """The path of the library that malloc is in."""
        self._check_origin(origin)

    def time_pass(self) -> PassTime:
        """Replay the trace once; afterwards everything is freed, outside the time taken."""
        cpu, wall = self._ask(b"t")
        return PassTime(cpu / 1e9, wall / 1e9)

    def peak_memory(self) -> PeakMemory:
        """Replay the trace once, slowly, watching what the process has from the system."""
        return PeakMemory(*self._ask(b"m"))

    def _ask(self, command: bytes) -> list[int]:
        assert self._process.stdin is not None
        self._process.stdin.write(command)
        self._process.stdin.flush()
        word, *figures = self._read_line().split()
        if word == "refused":
            event = int(figures[0])
            raise SimallocError(
                f"{self._trace.name}: {self._allocator.name} has no memory for event {event}, "
                f"which asks for {int(self._trace.size[event])} bytes"
            )
        if word == "unmeasurable":
            raise SimallocError(
                "this system does not tell how much memory a process has "
                "(/proc/self/status, maps and smaps_rollup)"
            )
        return [int(figure) for figure in figures]

    def _check_origin(self, origin: str) -> None:
        """Raise if malloc is another's: the linker goes on without what it cannot load."""
        name, preload = self._allocator.name, self._allocator.preload
        if origin == "preloaded" and not preload:
            raise SimallocError(
                f"{name}: {self.library} takes the C library's place in every process here; "
                "see /etc/ld.so.preload"
            )
        if origin == "system" and preload:
            said = self._said()
            why = (
                f"the dynamic linker did not load it: {said}"
                if said
                else "it has no malloc of its own"
            )
            raise SimallocError(f"{preload} cannot stand in for malloc: {why}")

    def _read_line(self) -> str:
        assert self._process.stdout is not None
        _wait_for(self._process.stdout)
        line = self._process.stdout.readline()
        if line:
            return line.decode().rstrip("\n")
        code = self._process.wait()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        said = self._said()
        why = (
            f": {said}" if said else ", as when memory runs out" if code == -signal.SIGKILL else ""
        )
        raise SimallocError(
            f"{self._trace.name}: the process with {self._allocator.name} {how}{why}"
        )

    def _said(self) -> str:
        """Return the last line that the process wrote to stderr."""
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def _wait_for(stream: IO[bytes]) -> None:
    """Wait until there is something to read from a pipe, of which nothing was read in advance."""
    waiting = select.poll()
    waiting.register(stream, select.POLLIN)
    while not waiting.poll(1000 * LOOK_SECONDS):
        pass
