"""A running process, read through `/proc` and `process_vm_readv`."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process import _walker
from simalloc.process.mappings import PAGE, Mapping, parse_maps
from simalloc.process.region import Region, room_for
from simalloc.process.target import GoneError, ProcessError, Target, Thread

ROBUST_LIST: Final = 0x2E0
"""Offset of a thread's list of robust locks from its thread pointer in glibc."""

_KERNEL_THREAD: Final = 0x0020_0000
"""Flag of a kernel thread in `/proc/PID/stat`."""

_STATE_SHIFT: Final = 62
"""Position of the two bits of a page's state in an entry of `/proc/PID/pagemap`."""

_LONGEST_FILE: Final = 1 << 28


@dataclass(frozen=True)
class Pause:
    """A period in which the process was stopped."""

    seconds: float
    """Seconds from the first thread's stop to the last thread's continuation."""
    waiting: float
    """Seconds until all threads had stopped outside malloc, included in `seconds`."""
    arena_bytes: int
    """Bytes of the arenas that were read during the stop."""
    threads: int
    rounds: int
    """Number of times that threads with a lock were released for a moment."""
    held: bool
    """True if a lock was still held at the end."""


class Stopped:
    """Threads of a process that are stopped."""

    def __init__(self, stop: _walker.Stop) -> None:
        self._stop = stop

    def keep(self, threads: Collection[int]) -> None:
        """Let all threads continue except the threads with these numbers."""
        self._stop.keep(np.array(sorted(threads), np.uint64))


class LiveProcess(Target):
    """A running process. Nothing is written into it; absent pages are not read."""

    knows_pages: ClassVar[bool] = True

    def __init__(self, process: int) -> None:
        self.process: int = process
        self.name = f"process {process}"
        self.pauses: list[Pause] = []
        self._pointers: dict[int, int] = {}
        self._known_pages = np.zeros(_walker.KNOWN_WORDS, np.uint64)
        self._root = Path(f"/proc/{process}")
        status = self._status()
        self.command = status.get("Name", "")
        self.resident_bytes: int | None = _kibibytes(status.get("VmRSS"))
        self._swapped_bytes = _kibibytes(status.get("VmSwap")) or 0
        if "VmRSS" not in status:
            raise ProcessError(self._without_memory(status))
        self._pagemap = self._open("pagemap")
        if not self.mappings():
            raise ProcessError(f"{self.name} ({self.command}) has no memory")

    def __del__(self) -> None:
        if getattr(self, "_pagemap", -1) >= 0:
            os.close(self._pagemap)

    def stored_bytes(self) -> int:
        """Return the process's initial bytes of memory and of swap."""
        return (self.resident_bytes or 0) + self._swapped_bytes

    def mappings(self) -> list[Mapping]:
        """Return the current mappings in order of address."""
        try:
            text = (self._root / "maps").read_text("utf-8", "surrogateescape")
        except OSError as error:
            raise self.explained(error) from error
        return parse_maps(text)

    def check_access(self) -> None:
        """Raise `ProcessError` if the memory may not be read, even if the mappings may be read."""
        self.bytes_at(self.mappings()[0].start, 1)

    def residents(self, mappings: Sequence[Mapping]) -> list[tuple[Mapping, int]]:  # noqa: ARG002 - the kernel lists them again
        """Return all current mappings with their resident bytes."""
        try:
            text = (self._root / "smaps").read_text("utf-8", "surrogateescape")
        except OSError as error:
            raise self.explained(error) from error
        found: list[tuple[Mapping, int]] = []
        head = ""
        for line in text.splitlines():
            if line.startswith("Rss:"):
                found.append((parse_maps(head)[0], _kibibytes(line[4:]) or 0))
            elif not line[0].isupper():
                head = line
        return found

    def threads(self) -> list[Thread]:
        """Return the current threads."""
        numbers = self.thread_numbers()
        for number in numbers:
            if not self._pointers.get(number):
                self._pointers[number] = max(0, _robust_list(number) - ROBUST_LIST)
        pointers = np.array([self._pointers[number] for number in numbers], np.uint64)
        right = self.are_thread_pointers(pointers)
        return [
            Thread(number, int(pointer) if is_right else None)
            for number, pointer, is_right in zip(numbers, pointers, right, strict=True)
        ]

    def thread_numbers(self) -> list[int]:
        """Return the numbers of the threads."""
        try:
            return sorted(int(path.name) for path in (self._root / "task").iterdir())
        except OSError as error:
            raise self.explained(error) from error

    def pages(self, start: int, end: int) -> NDArray[np.uint8]:
        """Return the states of pages. Pages outside all mappings are absent."""
        count = (end - start) // PAGE
        entries = np.zeros(count, np.uint64)
        try:
            os.preadv(self._pagemap, [entries.data], start // PAGE * 8)
        except OSError as error:
            raise self.explained(error) from error
        return (entries >> np.uint64(_STATE_SHIFT)).astype(np.uint8)

    def copy(
        self,
        start: NDArray[np.uint64],
        length: NDArray[np.uint64],
        place: NDArray[np.uint64],
        into: NDArray[np.uint8],
    ) -> int:
        """Copy ranges into an array at places.

        Return the number of bytes that could not be read.
        """
        try:
            return _walker.copy(self.process, start, length, place, into)
        except OSError as error:
            raise self.explained(error) from error

    def _copied(self, start: int, end: int, old: Region | None) -> Region:
        data, had = room_for(start, end - start, old)
        pagemap, now = self._states_for(start, end)
        try:
            _walker.pages(self.process, pagemap, start, data, had, now)
        except OSError as error:
            raise self.explained(error) from error
        return Region(start, data, now)

    def _states_for(self, start: int, end: int) -> tuple[int, NDArray[np.uint8]]:
        """Return a file for the states of pages and an array for them, or -1 and the states."""
        return self._pagemap, np.zeros((end - start) // PAGE, np.uint8)

    def words(self, address: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the words at addresses, or 0 for words in absent pages and unreadable words."""
        self.check_time()
        into = np.empty(len(address), np.uint64)
        try:
            wanted = np.ascontiguousarray(address)
            _walker.words(self.process, self._pagemap, self._known_pages, wanted, into)
        except OSError as error:
            raise self.explained(error) from error
        return into

    def file_bytes(self, mapping: Mapping) -> bytes | None:
        """Return the bytes of a mapped file in the process's view, or None if it cannot be read."""
        exact = self._root / "map_files" / f"{mapping.start:x}-{mapping.end:x}"
        for path in (exact, self._root / "root" / mapping.path.lstrip("/")):
            try:
                with path.open("rb") as file:
                    status = os.fstat(file.fileno())
                    if status.st_ino == mapping.inode and status.st_size <= _LONGEST_FILE:
                        return file.read()
            except OSError:
                continue
        return None

    @contextmanager
    def stopped(
        self, locks: Sequence[int], code: Sequence[Mapping], arena_bytes: int = 0
    ) -> Iterator[Stopped]:
        """Stop all threads during the `with` block, while no thread holds one of the locks.

        `locks` are the addresses of the lock words. Threads that execute `code` are released for
        moments until all locks are free. `arena_bytes` is the size of the arenas that the block
        reads.
        """
        pairs = np.array([(one.start, one.end) for one in code], np.uint64).reshape(-1)
        addresses = np.array(locks, np.uint64)
        with ahead_of_others():
            began = time.perf_counter()
            try:
                stop = _walker.Stop(self.process)
            except OSError as error:
                raise self.explained(error) from error
            rounds, waiting = 0, 0.0
            try:
                rounds = stop.settle(addresses, pairs)
                waiting = time.perf_counter() - began
                yield Stopped(stop)
            finally:
                threads = stop.threads
                stop.release()
                seconds = time.perf_counter() - began
                self.pauses.append(
                    Pause(seconds, waiting, arena_bytes, threads, max(rounds, 0), held=rounds < 0)
                )

    def _status(self) -> dict[str, str]:
        """Return the lines of `/proc/PID/status`."""
        try:
            return _status_in(self._root)
        except OSError as error:
            raise GoneError(
                f"process {self.process} does not exist; `ps` lists processes"
            ) from error

    def _open(self, name: str) -> int:
        try:
            return os.open(self._root / name, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise self.explained(error) from error

    def explained(self, error: OSError) -> ProcessError:
        """Return the error for an error of the kernel, with a remedy."""
        if isinstance(error, (FileNotFoundError, ProcessLookupError)):
            return GoneError(f"{self.name} ended while it was read")
        if isinstance(error, PermissionError):
            return ProcessError(self._forbidden())
        if isinstance(error, TimeoutError):
            return ProcessError(f"the threads of {self.name} could not be stopped; try again")
        return ProcessError(f"{self.name} cannot be read: {error.strerror}")

    def _without_memory(self, status: dict[str, str]) -> str:
        """Return the reason why a process has no memory, from the lines of its status."""
        what = f"{self.name} ({self.command})"
        if status.get("State", "").startswith("Z"):
            return (
                f"{what} has ended and has no memory any more; only its exit status is left, "
                f"which process {status.get('PPid', '?')}, its parent, has not collected"
            )
        if _is_of_the_kernel(self._root):
            return (
                f"{what} is a thread of the kernel, which has no heap; `ps` prints the names of "
                "such threads in brackets. Choose a process without"
            )
        return f"{what} is ending and has already returned its memory"

    def _forbidden(self) -> str:
        """Return the reason why the process may not be read, with a remedy."""
        resident = self.resident_bytes or 0
        what = f"{self.name} ({self.command}, {resident >> 20:,} MiB resident) may not be read"
        tracer = self._status().get("TracerPid", "0")
        if tracer != "0":
            debugger = _process_of(tracer)
            return f"{what}: process {debugger} is debugging it. End that debugger first."
        owner = self._status().get("Uid", "?").split()[0]
        if owner != str(os.geteuid()) and os.geteuid() != 0:
            return (
                f"{what}: it belongs to user {owner}. Run the command as that user or with sudo; "
                "in a container, start the container with --cap-add SYS_PTRACE."
            )
        level = _yama()
        if level:
            return (
                f"{what}: kernel.yama.ptrace_scope is {level}. Run the command with sudo, or "
                f"{_ABOUT_YAMA.get(level, 'lower it')}."
            )
        return (
            f"{what}: it is protected, or has capabilities that this command lacks. "
            "Run the command with sudo; in a container, start the container with "
            "--cap-add SYS_PTRACE."
        )


_ABOUT_YAMA: Final = {
    1: "set it to 0: sudo sysctl kernel.yama.ptrace_scope=0",
    2: "give the command the capability SYS_PTRACE",
    3: (
        "restart the machine with a lower value, because this value cannot be changed "
        "on a running system"
    ),
}


@contextmanager
def ahead_of_others() -> Iterator[None]:
    """Give this thread priority over all others during the `with` block, if permitted.

    With the priority, a stopped process does not wait until this command gets a processor.
    """
    usual, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    is_ahead = False
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        is_ahead = True
    try:
        yield
    finally:
        if is_ahead:
            os.sched_setscheduler(0, usual, parameter)


def _status_in(root: Path) -> dict[str, str]:
    """Return the lines of the file `status` in a folder of `/proc`."""
    text = (root / "status").read_text("utf-8", "surrogateescape")
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _process_of(thread: str) -> str:
    """Return the number of the process of a thread, or the thread's number if it is unknown."""
    with suppress(OSError):
        return _status_in(Path("/proc", thread)).get("Tgid", thread)
    return thread


def _is_of_the_kernel(root: Path) -> bool:
    """Return whether a folder of `/proc` belongs to a kernel thread."""
    try:
        flags = int((root / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[6])
    except OSError:
        return False
    return bool(flags & _KERNEL_THREAD)


def _yama() -> int:
    """Return the kernel's restriction level of ptrace, or 0 without restriction."""
    try:
        return int(Path("/proc/sys/kernel/yama/ptrace_scope").read_text("ascii"))
    except (OSError, ValueError):
        return 0


def _robust_list(thread: int) -> int:
    """Return the address of a thread's list of robust locks, or 0 if unknown."""
    try:
        return _walker.robust_list(thread)
    except OSError:
        return 0


def _kibibytes(value: str | None) -> int | None:
    """Return the bytes in a line of `/proc/PID/status`, such as `1234 kB`."""
    return None if value is None else int(value.split()[0]) * 1024
