"""Memory that can be examined: a running process or a core file."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.process.mappings import PAGE, Mapping, joined
from simalloc.process.region import ABSENT, Region, down, up

_HUGE: Final = 1 << 40
"""A mapping of more bytes is reserved address space, not memory of malloc."""

_MIN_SECONDS: Final = 60
_SECONDS_PER_GIB: Final = 60
"""Limit of processor time for reading, in seconds per GiB. A heap needs some seconds per GiB."""


class ProcessError(SimallocError):
    """Error: a process or core file cannot be read, or its heap is inconsistent."""


class GoneError(ProcessError):
    """Error: the process has ended."""


class TooLargeError(ProcessError):
    """Error: a range of memory is larger than this machine can copy."""


@dataclass(frozen=True)
class Thread:
    """A thread of the process."""

    number: int
    pointer: int | None
    """The thread pointer, which is the start of glibc's block of the thread, or None if unknown."""


class Target(ABC):
    """The memory of a process: mappings, bytes and the states of pages."""

    name: str
    """Name of the target in messages."""
    process: int | None = None
    """Number of the process, or None for a core file."""
    command: str
    """Name of the process's program."""
    resident_bytes: int | None = None
    """Resident bytes of the whole process, or None if unknown."""
    knows_pages: ClassVar[bool]
    """True if resident pages can be distinguished from other pages."""

    _deadline: float = math.inf

    @contextmanager
    def limited_time(self) -> Iterator[None]:
        """Limit the processor time of the `with` block.

        Without a limit, a search of damaged memory may not end. `check_time` raises `ProcessError`
        after one minute plus one minute per GiB. The limit of an outer block also applies to inner
        blocks.
        """
        before = self._deadline
        seconds = _MIN_SECONDS + _SECONDS_PER_GIB * self.stored_bytes() / 2**30
        self._deadline = min(before, time.process_time() + seconds)
        try:
            yield
        finally:
            self._deadline = before

    def check_time(self) -> None:
        """Raise `ProcessError` if the time has expired.

        Every loop over memory calls this method.
        """
        if time.process_time() > self._deadline:
            raise ProcessError(
                f"{self.name} was read for longer than any heap of its size needs. Its memory is "
                "damaged"
            )

    @abstractmethod
    def stored_bytes(self) -> int:
        """Return the approximate number of bytes of memory that can be read."""

    @abstractmethod
    def mappings(self) -> list[Mapping]:
        """Return the current mappings in order of address."""

    def residents(self, mappings: Sequence[Mapping]) -> list[tuple[Mapping, int]]:
        """Return mappings with their resident bytes, or 0 for unknown resident bytes."""
        return [(one, 0) for one in mappings]

    def busy_runs(self) -> list[Mapping]:
        """Return the mappings as `joined` does, without huge mappings and without absent ones."""
        there = [one for one, resident in self.residents(self.mappings()) if resident]
        runs = [run for run in joined(self.mappings()) if run.size <= _HUGE]
        if not self.knows_pages:
            return runs
        busy = np.array([one.start for one in there], np.uint64)
        return [run for run in runs if ((busy >= run.start) & (busy < run.end)).any()]

    @abstractmethod
    def threads(self) -> list[Thread]:
        """Return the current threads."""

    def are_thread_pointers(self, address: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return a mask of the addresses at which glibc's block of a thread begins.

        The first and the third word of such a block contain its own address.
        """
        first, third = self.words(address), self.words(address + np.uint64(16))
        found: NDArray[np.bool_] = (first == address) & (third == address) & (address != 0)
        return found

    @abstractmethod
    def pages(self, start: int, end: int) -> NDArray[np.uint8]:
        """Return the states of pages. `start` and `end` are multiples of the page size."""

    @abstractmethod
    def copy(
        self,
        start: NDArray[np.uint64],
        length: NDArray[np.uint64],
        place: NDArray[np.uint64],
        into: NDArray[np.uint8],
    ) -> int:
        """Copy ranges into an array at places. Return the number of bytes that could not be read.

        Unread bytes are zero. The caller must request only resident pages.
        """

    @abstractmethod
    def file_bytes(self, mapping: Mapping) -> bytes | None:
        """Return the bytes of a mapped file, or None if it cannot be read."""

    def region(self, start: int, end: int, old: Region | None = None) -> Region:
        """Return a copy of a range of memory in whole pages. Absent pages are not read.

        `old` is an earlier copy whose array may be reused to avoid page faults. Raises
        `TooLargeError` if memory is exhausted.
        """
        self.check_time()
        start, end = down(start), up(end)
        if end - start > _HUGE:
            raise TooLargeError(_too_large(self.name, end - start))
        try:
            return self._copied(start, end, old)
        except MemoryError as error:
            raise TooLargeError(_too_large(self.name, end - start)) from error

    def _copied(self, start: int, end: int, old: Region | None) -> Region:  # noqa: ARG002 - for memory that changes
        pages = self.pages(start, end)
        data = np.zeros(end - start, np.uint8)
        first, last = runs_of(pages != ABSENT)
        place, length = (first * PAGE).astype(np.uint64), ((last - first) * PAGE).astype(np.uint64)
        self.copy(place + np.uint64(start), length, place, data)
        return Region(start, data, pages)

    def words(self, address: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the words at addresses, or 0 for words in absent pages and unreadable words."""
        self.check_time()
        into = np.zeros(len(address), np.uint64)
        length = np.full(len(address), 8, np.uint64)
        place = np.arange(len(address), dtype=np.uint64) * np.uint64(8)
        self.copy(address, length, place, into.view(np.uint8))
        return into

    def bytes_at(self, address: int, size: int) -> bytes:
        """Return a few bytes of memory, with zeros for unreadable bytes."""
        self.check_time()
        into = np.zeros(size, np.uint8)
        start, length, place = np.array([[address], [size], [0]], np.uint64)
        self.copy(start, length, place, into)
        return into.tobytes()


def _too_large(name: str, size: int) -> str:
    return f"{name} has a heap of {size >> 20:,} MiB, which is too large for a copy on this machine"


def runs_of(marked: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the starts and ends of runs of marked items."""
    edges = np.diff(np.concatenate(([0], marked.view(np.int8), [0])))
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)


def in_any(mappings: Sequence[Mapping], address: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return a mask of the addresses that any of the ordered mappings contains."""
    starts = np.array([one.start for one in mappings], np.uint64)
    ends = np.array([one.end for one in mappings], np.uint64)
    place = np.searchsorted(starts, address, side="right").astype(np.int64) - 1
    found: NDArray[np.bool_] = (place >= 0) & (address < ends[place])
    return found
