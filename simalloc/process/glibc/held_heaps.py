"""All glibc heaps of a process that is held for another purpose.

The heaps are only copied while the process is held.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from simalloc.process.glibc.capture import Capture
from simalloc.process.glibc.mapped import MappedBlocks, read_mapped
from simalloc.process.glibc.reading import (
    Heap,
    Reading,
    copy_stopped,
    give_up,
    heap_of,
    mark_cached_by_others,
    start_reading,
)
from simalloc.process.glibc.state import find_libcs
from simalloc.process.glibc.tables import Lists
from simalloc.process.mappings import Mapping
from simalloc.process.target import Target, Thread

_SLOT_TRIES: Final = 10


class HeldHeaps:
    """All heaps of a process, in three steps: found while it runs, copied while held, and walked.

    The heaps are copied once before the process is held, so that the memory for the copies is
    mapped: page faults would take longer than the copying. `limited_time` of the target applies to
    each step.
    """

    def __init__(self, process: Target) -> None:
        with process.limited_time():
            libcs = find_libcs(process, process.mappings())
            self._unused = [libc for libc in libcs if libc.unused]
            used = [libc for libc in libcs if not libc.unused]
            used.sort(key=lambda libc: -libc.arena)  # the program's own malloc was mapped first
            begun = [start_reading(process, libc, used, tries=_SLOT_TRIES) for libc in used]
            self._readings: list[Reading] = [one for one in begun if one is not None]
            for reading in self._readings:
                for state in reading.order:
                    reading.copy(state)
        self._lists: list[Lists] = []
        self._mapped = MappedBlocks([], 0, 0)
        self._mappings: Sequence[Mapping] = ()
        self.threads: Sequence[Thread] = ()
        """The threads of the process while it was held."""

    def copy(self, held: Target) -> None:
        """Copy all data that `walk` needs. The process must be held."""
        with held.limited_time():
            self._mappings, self.threads = held.mappings(), held.threads()
            self._lists = [_copied(reading, held) for reading in self._readings]
            mallocs = [(one.libc, one.parameters) for one in self._readings]
            taken = [piece for one in self._readings for piece in one.taken()]
            self._mapped = read_mapped(held, mallocs, taken, readings=1)

    def walk(self) -> Capture:
        """Return the heaps at the time of the copy."""
        pairs = zip(self._readings, self._lists, strict=True)
        heaps = mark_cached_by_others([_walked(reading, lists) for reading, lists in pairs])
        return Capture(heaps, self._mapped, self._mappings, self.threads, self._unused)


def _copied(reading: Reading, held: Target) -> Lists:
    """Copy the arenas of a malloc, and return its caches."""
    reading.target = held
    reading.read_order()
    if reading.slot is None:
        reading.find_slot()
    _, lists = copy_stopped(reading, reading.order, None)
    reading.read_thread_arenas()
    return lists


def _walked(reading: Reading, lists: Lists) -> Heap:
    with reading.target.limited_time():
        for state in reading.order:
            if not (reading.walk(state.address) and reading.settle(state.address, lists)):
                give_up(reading, state.address, state, lists)
        return heap_of(reading)
