"""A held process: all its threads are stopped, and one of them can call functions for simalloc."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process import _walker
from simalloc.process.attach.loaded import AllocatorMemory, LoadedObject, objects_of
from simalloc.process.live import LiveProcess, ahead_of_others
from simalloc.process.mappings import PAGE, Mapping
from simalloc.process.target import ProcessError

_TRIES: Final = 200
"""Maximum number of stops before the attempt fails."""
_LONGEST_TRIAL: Final = 20.0
"""Seconds after which no more stops are tried."""
_PATIENT_TRIES: Final = 5
"""Number of first stops in which every thread must leave the allocator. In later stops, one thread
outside the allocator is sufficient.
"""
_HANDLER_TRIES: Final = 50
"""Number of first stops in which the calling thread must have no frame of a signal handler on its
stack, because the handler may have interrupted the allocator. The frame may also be an old one.
"""
_LONGEST_WAIT: Final = 0.005
"""Maximum seconds between two stops."""
_BLOCK: Final = 4 << 20
"""Bytes of memory whose page states are read and cached together."""
_AT_ENTRY: Final = 9
_STACK_BYTES: Final = 256 << 10
_MAX_THREADS: Final = 8192
"""Maximum number of thread pointers that fit where arguments are placed."""
_READ_WRITE: Final = 3
_PRIVATE_ANONYMOUS: Final = 0x22
_NO_DESCRIPTOR: Final = (1 << 64) - 1


class HeldProcess(LiveProcess):
    """A running process that is read while all its threads are held by another object.

    Mappings and page states are read once, because they do not change. They remain available after
    the process has been released.
    """

    def __init__(self, process: int) -> None:
        self._states: dict[int, NDArray[np.uint8]] = {}
        self._mappings: list[Mapping] = []
        super().__init__(process)
        self._mappings = []  # the process is not yet held

    def mappings(self) -> list[Mapping]:
        """Return the mappings in order of address."""
        if not self._mappings:
            self._mappings = super().mappings()
        return self._mappings

    def pages(self, start: int, end: int) -> NDArray[np.uint8]:
        """Return the states of pages."""
        blocks = range(start // _BLOCK, -(-end // _BLOCK))
        missing = [block for block in blocks if block not in self._states]
        if missing:
            states = super().pages(missing[0] * _BLOCK, (missing[-1] + 1) * _BLOCK)
            rows = states.reshape(-1, _BLOCK // PAGE)
            for block, row in zip(range(missing[0], missing[-1] + 1), rows, strict=True):
                self._states.setdefault(block, row)
        states = np.concatenate([self._states[block] for block in blocks])
        first = (start - blocks[0] * _BLOCK) // PAGE
        return states[first : first + (end - start) // PAGE]

    def _states_for(self, start: int, end: int) -> tuple[int, NDArray[np.uint8]]:
        return -1, self.pages(start, end)


class Held:
    """Stopped threads of a process. One of them can call functions.

    The threads are released at the end of `with`.
    """

    def __init__(self, process: LiveProcess) -> None:
        self.process = process
        mappings = process.mappings()
        self.objects = list(objects_of(process, mappings))
        self.pause = 0.0
        """Duration of the last stop in seconds. Between stops, the process ran."""
        self._stopped_at = 0.0
        self._memory = AllocatorMemory(process, self.objects, mappings)
        self._entry = _entry_of(process.process)
        self._stop: _walker.Stop | None = None
        self._errno: tuple[int, bytes] | None = None
        self._stack = 0

    @contextmanager
    def hold(self, *, everyone: bool = False) -> Iterator[None]:
        """Hold the process during the `with` block.

        With `everyone`, all threads must be stopped outside the allocator; otherwise, one thread is
        sufficient. Raises `ProcessError` if this state is not reached.
        """
        with ahead_of_others():
            try:
                self._stop_outside(everyone=everyone)
                self._begin_calls()
                yield
            finally:
                try:
                    self._end_calls()
                finally:
                    self.release()

    def release(self) -> None:
        """Let all threads continue."""
        if self._stop is not None:
            self._stop.release()
            self.pause = time.perf_counter() - self._stopped_at
        self._stop = None

    def function(self, name: str, *, within: str = "") -> int:
        """Return the address of the first function with a name, or 0.

        Only files whose names begin with `within` are searched.
        """
        for one in self.objects:
            if one.path.rpartition("/")[2].startswith(within) and (found := one.function(name)):
                return found
        return 0

    def call(self, function: int, *arguments: int, alone: bool = False) -> int:
        """Call a function on a separate stack and return its result.

        If the call does not end soon, the other threads run until it ends, unless it is `alone`.
        """
        return self._call(function, self._stack, *arguments, alone=alone)

    def place(self, content: bytes) -> int:
        """Write bytes and return their address. They remain until the process is released."""
        assert self._stop is not None
        address = self._stack - _STACK_BYTES
        self._stop.write(address, content)
        return address

    def place_pointers(self, pointers: Sequence[int]) -> tuple[int, int]:
        """Write thread pointers in the same way as `place`. Return their address and number.

        Raises `ProcessError` if they are too many.
        """
        if len(pointers) > _MAX_THREADS:
            raise ProcessError(
                f"{self.process.name} has more than {_MAX_THREADS:,} threads; its recording "
                "cannot begin or end"
            )
        return self.place(struct.pack(f"<{len(pointers)}Q", *pointers)), len(pointers)

    def leave(self) -> None:
        """Let threads that a call has released leave the allocator."""
        self._leave(everyone=False)

    def thread_pointers(self) -> list[int]:
        """Return the known thread pointers of the threads."""
        assert self._stop is not None
        return [one for one in self._stop.thread_pointers() if one]

    def add(self, found: LoadedObject) -> None:
        """Add an object that was loaded after `objects` had been read."""
        self.objects.append(found)

    def _stop_outside(self, *, everyone: bool) -> None:
        begun = time.perf_counter()
        for attempt in range(_TRIES):
            self._stopped_at = time.perf_counter()
            if self._stopped_at - begun > _LONGEST_TRIAL:
                break
            try:
                self._stop = _walker.Stop(self.process.process)
                amid, caller, interrupted = self._leave(everyone=everyone)
            except OSError as error:
                raise self.process.explained(error) from error
            ready = amid == 0 or (not everyone and attempt >= _PATIENT_TRIES)
            if caller and ready and (not interrupted or attempt >= _HANDLER_TRIES):
                return
            self.release()
            time.sleep(random.uniform(0, _LONGEST_WAIT))  # noqa: S311 - out of step with the process
        raise ProcessError(
            f"{self.process.name} was stopped many times, and each time a thread was inside "
            "malloc, the loader or a call of the kernel that cannot be interrupted. Try again"
        )

    def _leave(self, *, everyone: bool) -> tuple[int, int, bool]:
        assert self._stop is not None
        memory = self._memory
        return self._stop.leave(memory.code, memory.data, memory.restorers, everyone)

    def _begin_calls(self) -> None:
        """Save the thread's errno, and allocate a stack."""
        location = self._call(self._needed("__errno_location"), 0)
        self._errno = (location, self.process.bytes_at(location, 4))
        memory = self._call(
            self._needed("mmap"), 0, 0, _STACK_BYTES, _READ_WRITE, _PRIVATE_ANONYMOUS,
            _NO_DESCRIPTOR, 0,
        )  # fmt: skip
        if memory >> 63:
            raise ProcessError(
                f"{self.process.name} cannot map another {_STACK_BYTES >> 10} KiB of memory"
            )
        self._stack = memory + _STACK_BYTES

    def _end_calls(self) -> None:
        if self._stop is None:
            return
        if self._stack:
            address = self._stack - _STACK_BYTES
            self._stack = 0
            self._call(self._needed("munmap"), 0, address, _STACK_BYTES)
        if self._errno is not None:
            self._stop.write(*self._errno)
            self._errno = None

    def _needed(self, name: str) -> int:
        found = self.function(name, within="libc.so") or self.function(name, within="libc-2")
        if not found:
            raise ProcessError(f"{self.process.name} has no function {name} of the GNU C library")
        return found

    def _call(self, function: int, stack: int, *arguments: int, alone: bool = False) -> int:
        assert self._stop is not None
        try:
            return self._stop.call(self._entry, function, stack, alone, *arguments)
        except OSError as error:
            raise self.process.explained(error) from error


def _entry_of(process: int) -> int:
    """Return the address where the program began, where the code does not run again."""
    content = Path(f"/proc/{process}/auxv").read_bytes()
    found = dict(struct.iter_unpack("<QQ", content[: len(content) // 16 * 16]))
    return int(found[_AT_ENTRY])
