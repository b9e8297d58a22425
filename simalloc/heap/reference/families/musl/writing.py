"""Writes of musl's malloc and the program to slots, which decide the addresses of objects."""

from __future__ import annotations

from dataclasses import dataclass

from simalloc.heap.reference.families.musl.groups import Group
from simalloc.heap.reference.families.musl.size_classes import PAGE, SIZES, UNIT
from simalloc.heap.reference.heap import Heap
from simalloc.policy.families.musl import Musl

ALONE = 63
"""Class of groups that are a mapping for one request."""

_WRITTEN = 0x5A
"""Byte that the program writes to its objects."""


@dataclass
class Held:
    """An object: its slot, the start of its bytes in the slot, and their number."""

    group: Group
    slot: int
    at: int
    size: int


class WritingHeap(Heap):
    """A heap that records the bytes that malloc reads later, and the written pages."""

    def __init__(self, description: Musl) -> None:
        super().__init__()
        self._has_headers = description.mechanism
        self._tag = 4 if description.mechanism else 0
        self._mmaps = 0
        self._objects: dict[int, Held] = {}

    def _offset(self, group: Group, slot: int, size: int) -> int:
        """Return an object's offset in its slot in units; it cycles through the slack."""
        if not self._has_headers:
            return 0
        slack = (group.stride - self._tag - size) // UNIT
        memory, start = group.mapping.memory, group.start(slot) - group.mapping.base
        offset = self._mmaps
        if memory and memory.read(start - 3):
            offset = memory.read(start - 2) + 1
        offset %= 256
        if offset > slack:
            offset &= (1 << slack.bit_length()) - 1
        if offset > slack:
            offset -= slack + 1
        return offset

    def _begin(self, held: Held) -> None:
        """Write the header of an object, and its offset at the start of the slot."""
        group, start = held.group, held.group.start(held.slot)
        if held.at > start:
            self._write_header(group, start, 0xE0, (held.at - start) // UNIT)
            self.touch(start - self._tag, self._tag)
        self._write_header(group, held.at, held.slot, (held.at - group.first) // UNIT)
        self.touch(held.at - self._tag, self._tag)

    def _end(self, held: Held, size: int) -> None:
        """Write the bytes that encode the object's size."""
        held.size = size
        end = held.group.start(held.slot) + held.group.stride - self._tag
        reserve = end - held.at - size
        if not self._has_headers:
            return
        if reserve:
            self._write_byte(held.group, held.at + size, 0)
            self.touch(held.at + size, 1)
        if reserve >= 5:
            self.touch(end - 5, 5)
        self._write_byte(held.group, held.at - 3, held.slot + (min(reserve, 5) << 5))

    def _write_header(self, group: Group, at: int, index: int, offset: int) -> None:
        self._write_byte(group, at - 3, index)
        self._write_byte(group, at - 2, offset % 256)

    def _write_byte(self, group: Group, at: int, value: int) -> None:
        if group.mapping.memory and self._has_headers:
            group.mapping.memory.write(at - group.mapping.base, value)

    def _write(self, address: int) -> None:
        """Write the object's bytes, if the program writes its objects."""
        if self.program_writes:
            self._fill(self._objects[address], _WRITTEN, self.request.unwritten)

    def _fill(self, held: Held, value: int, unwritten: int = 0) -> None:
        """Write an object's bytes; the last `unwritten` bytes do not touch pages."""
        mapping = held.group.mapping
        self.touch(held.at, max(held.size - unwritten, 0))
        if mapping.memory:
            mapping.memory.fill(held.at - mapping.base, held.size, value)

    def _zero(self, held: Held) -> None:
        """Zero a new object unless its pages are new; inner whole pages are not touched."""
        group = held.group
        if group.number == ALONE or group.stride < SIZES[group.number]:
            return
        if group.mapping.memory:
            group.mapping.memory.fill(held.at - group.mapping.base, held.size, 0)
        end = held.at + held.size
        if held.size < PAGE:
            self.touch(held.at, held.size)
        else:
            self.touch(held.at, -held.at % PAGE)
            self.touch(end - end % PAGE, end % PAGE)

    def _copy(self, old: Held, new: Held) -> None:
        """Copy the common bytes of two objects."""
        size = min(old.size, new.size)
        source, target = old.group.mapping, new.group.mapping
        self.touch(new.at, size)
        if target.memory and source.memory:
            target.memory.copy(new.at - target.base, source.memory, old.at - source.base, size)
        elif target.memory:
            target.memory.fill(new.at - target.base, size, _WRITTEN if self.program_writes else 0)
