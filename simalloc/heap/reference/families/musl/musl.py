"""musl's malloc, mallocng (policy/families/musl.md)."""

from __future__ import annotations

from simalloc.heap.reference.families.musl.groups import Group, Mapping, Memory
from simalloc.heap.reference.families.musl.size_classes import (
    COUNTED,
    PAGE,
    SIZES,
    UNIT,
    class_of,
    lowered_count,
    slot_count,
)
from simalloc.heap.reference.families.musl.writing import ALONE, Held, WritingHeap
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import Refused, State, needed_by_allocator
from simalloc.policy.families.musl import Musl

_THRESHOLD = 131052
"""Minimum size of requests that get their own mapping."""

_BOUNCES, _SOON, _REMEMBERED = 100, 10, 150
_LAST_STEP = 255
_RECORDS = 101
"""Number of groups that an area of metadata describes."""


class MuslHeap(WritingHeap):
    """Groups of slots, in separate mappings or in slots of larger classes."""

    def __init__(self, description: Musl) -> None:
        super().__init__(description)
        self._head = UNIT if description.mechanism else 0
        self._bounces_count = description.bounce
        self._offers = description.madv_free
        self._rings: list[list[Group]] = [[] for _ in SIZES]
        self._usage = [0] * len(SIZES)
        self._bounces = [0] * len(SIZES)
        self._unmapped_at = [0] * len(SIZES)
        self._step = 0
        self._groups: set[Group] = set()
        self._records = 0
        self._spare_records = 0
        self._munmaps = self._mremaps = self._madvises = self._madvised = 0

    def malloc(self, size: int) -> int:
        """Use a slot of the size's class, or a mapping."""
        self.visited = 0
        alignment = self.request.alignment
        if alignment > UNIT:
            return self._allocate_aligned(size, alignment)
        address = self._allocate(size)
        if self.request.is_zeroed:
            self._zero(self._objects[address])
        self._write(address)
        return address

    def free(self, address: int) -> None:
        """Free the slot, and its group if the group is then empty."""
        held = self._objects.pop(address)
        self._write_header(held.group, held.at, 255, 0)
        self._offer(held.group, held.slot)
        self.blocks.mark(address, State.FREE)
        group, bit = held.group, 1 << held.slot
        if group.freed and group.freed | group.avail | bit != group.all:
            group.freed |= bit
        else:
            self._free_slot(group, held.slot)

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Stay if the slot is large enough and at most one class too large."""
        held = self._objects[address]
        end = held.group.start(held.slot) + held.group.stride - self._tag
        if size > end - held.at or size >= _THRESHOLD:
            return False
        if class_of(size + self._tag) + 1 < held.group.number:
            return False
        self._end(held, size)
        return True

    def reallocate(self, address: int, size: int) -> int:
        """Stay, remap the mapping, or copy the object."""
        held = self._objects[address]
        if not self.reallocate_in_place(address, size):
            if held.group.number == ALONE and size >= _THRESHOLD:
                address = self._remap(address, size)
            else:
                self.visited = 0
                address = self._allocate(size)
                self._copy(held, self._objects[address])
                self.free(held.group.start(held.slot))
        self._write(address)
        return address

    def figures(self) -> dict[str, int]:
        """Return the bytes of metadata, and the numbers of system calls."""
        return {
            "meta": self.brk,
            "mmaps": self._mmaps,
            "munmaps": self._munmaps,
            "mremaps": self._mremaps,
            "madvises": self._madvises,
            "madvised": self._madvised,
        }

    def locate(self, address: int) -> tuple[int, int, int]:
        """Return the number of the mapping, and the offset of the object's bytes in it."""
        held = self._objects[address]
        return held.group.mapping.number, 0, held.at - held.group.mapping.base

    def listed(self) -> list[int]:
        """Return the slots that are not in use."""
        return [
            group.start(slot)
            for group in self._groups
            for slot in range(group.count)
            if (group.avail | group.freed) >> slot & 1
        ]

    def _allocate(self, size: int) -> int:
        if size >= _THRESHOLD:
            group, slot = self._map_alone(size), 0
        else:
            group, slot = self._find(size)
        address = group.start(slot)
        self.blocks.mark(address, State.ALLOCATED)
        self._objects[address] = held = Held(group, slot, address, size)
        held.at += UNIT * self._offset(group, slot, size)
        self._begin(held)
        self._end(held, size)
        return address

    def _allocate_aligned(self, size: int, alignment: int) -> int:
        """Allocate enough bytes for the object to begin at a multiple of a power of two."""
        alignment = 1 << (alignment - 1).bit_length()
        address = self._allocate(size + alignment - UNIT)
        held = self._objects[address]
        aligned = round_up(held.at, alignment)
        if aligned != held.at:
            held.at = aligned
            self._begin(held)
        self._end(held, size)
        self._write(address)
        return address

    # Finding a slot.

    def _find(self, size: int) -> tuple[Group, int]:
        """Return an available slot: of the class, or of the next class if that has few slots."""
        number = class_of(size + self._tag)
        if self._prefers_next(number):
            number += 1
        ring = self._rings[number]
        self.visited += 1
        if ring and ring[0].avail:
            return ring[0], ring[0].take()
        return self._make_available(number, size)

    def _prefers_next(self, number: int) -> bool:
        if number % 2 or not 4 <= number < 32 or number == 6:
            return False
        if self._rings[number] or self._usage[number]:
            return False
        usage, ring = self._usage[number + 1], self._rings[number + 1]
        if not ring or not ring[0].avail | ring[0].freed:
            usage += 3
        return usage <= 12

    def _make_available(self, number: int, size: int) -> tuple[Group, int]:
        """Return a slot of the groups in the ring, or of a new group."""
        ring = self._rings[number]
        if ring and not ring[0].avail:
            self._turn(ring)
        if not ring:
            ring.append(self._new_group(number, size))
        return ring[0], ring[0].take()

    def _turn(self, ring: list[Group]) -> None:
        """Make the freed slots of the next group available; a used-up head leaves the ring."""
        head = ring.pop(0)
        if head.freed:
            ring.append(head)
        if not ring:
            return
        if ring[0].freed == ring[0].all:
            ring.append(ring.pop(0))
        if not ring[0].freed & (2 << ring[0].active) - 1:
            if len(ring) > 1:
                ring.append(ring.pop(0))
            else:
                self._raise_active(ring[0])
        ring[0].activate()
        if self._bounces[ring[0].number]:
            self._bounces[ring[0].number] -= 1
        self.visited += 1

    def _raise_active(self, group: Group) -> None:
        """Activate one more slot, and the following slots that are within one page."""
        count = group.active + 2
        while count < group.count:
            start = self._head + group.stride * count
            if start // PAGE != (start + group.stride - 1) // PAGE:
                break
            count += 1
        group.active = count - 1

    # Groups come and go.

    def _new_group(self, number: int, size: int) -> Group:
        """Make a group, with its own mapping if it is large enough."""
        self._take_record()
        usage = self._usage[number]
        count = slot_count(number, usage, self._head)
        try:
            if SIZES[number] * count + self._head > PAGE // 2:
                group = self._map_group(number, count, usage, size)
            else:
                group = self._nest_group(number, count)
        except Refused:
            self._spare_records += self._has_headers
            raise
        self._usage[number] += group.count
        return group

    def _map_group(self, number: int, count: int, usage: int, request: int) -> Group:
        is_kept = self._bounces[number] >= _BOUNCES
        self._count_bounce(number)
        self._advance()
        slot = SIZES[number]
        if number % 2 == 0 and number < 32:
            usage += self._usage[number + 1]
        if 4 * count > usage and not is_kept:
            count = lowered_count(number, count)
        size = round_up(slot * count + self._head, PAGE)
        if not is_kept and count <= 7:
            alone = round_up(request + self._tag + self._head, PAGE)
            if alone < slot + self._head or (alone >= 4 * PAGE and 2 * count > usage):
                count, size = 1, alone
        mapping = self._map(size)
        mapping.memory = Memory(size)
        active = max(0, min((PAGE - self._head) // slot - 1, count - 1))
        stride = slot if count > 1 else size - self._head
        return self._lay_out(
            Group(number, mapping, mapping.base + self._head, stride, count, active)
        )

    def _nest_group(self, number: int, count: int) -> Group:
        """Make a group in a slot of a larger class."""
        slot = SIZES[number]
        host_number = class_of(self._head + slot * count)
        host, place = self._make_available(host_number, self._head + slot * count - self._tag)
        size = SIZES[host_number] - self._tag
        at = host.start(place) + UNIT * self._offset(host, place, size)
        held = Held(host, place, at, size)
        self._begin(held)
        self._end(held, size)
        self._write_header(host, at, place + (6 << 5), (at - host.first) // UNIT)
        if at > host.start(place):
            begin = self.blocks.cut(host.start(place), at - host.start(place))
            self.blocks.mark(host.start(place), State.WASTE)
            assert begin == at
        group = Group(number, host.mapping, at + self._head, slot, count, count - 1, (host, place))
        for i in range(count + 1 if self._has_headers else 0):
            self.touch(group.start(i) - self._tag, 1)
        return self._lay_out(group)

    def _lay_out(self, group: Group) -> Group:
        """Cut the group's memory into slots."""
        at: int | None = group.first
        if self._head:
            start = group.first - self._head
            self.blocks.cut(start, self._head)
            self.blocks.mark(start, State.TABLE)
            self.touch(start, self._head)
        for _ in range(group.count):
            assert at is not None, "the group's memory holds all slots"
            slot, at = at, None
            if self.block_size(slot) > group.stride:
                at = self.blocks.cut(slot, group.stride)
            self.blocks.mark(slot, State.FREE)
        if at is not None:
            self.blocks.mark(at, State.WASTE)
        self._groups.add(group)
        return group

    def _free_slot(self, group: Group, slot: int) -> None:
        """Free a slot that may be the last one in use or the first free one of its group."""
        bit = 1 << slot
        free = group.freed | group.avail
        ring = self._rings[group.number] if group.number != ALONE else []
        if free | bit == group.all and self._may_go(group, ring):
            if group in ring:
                was_head = ring[0] is group
                ring.remove(group)
                if was_head and ring:
                    ring[0].activate()
            self._drop(group)
            return
        if not free and not (ring and ring[0] is group):
            ring.append(group)
        group.freed |= bit

    def _may_go(self, group: Group, ring: list[Group]) -> bool:
        """Return whether a group without objects is dropped."""
        if group.number == ALONE or group.stride < SIZES[group.number] or group.host:
            return True
        if ring != [group] or self._bounces[group.number] < _BOUNCES:
            return True
        return 9 * group.count <= self._usage[group.number] and group.count < 20

    def _drop(self, group: Group) -> None:
        """Drop a group: unmap it, or free the slot that contains it."""
        if group.number != ALONE:
            self._usage[group.number] -= group.count
        self._groups.remove(group)
        self._spare_records += 1
        if group.host:
            host, place = group.host
            start, end = host.start(place), host.start(place) + host.stride
        else:
            start, end = group.mapping.base, group.mapping.base + group.mapping.size
        while start + self.block_size(start) < end:
            self.blocks.join(start)
        if group.host:
            self.blocks.mark(start, State.FREE)
            self._free_slot(*group.host)
        else:
            self._advance()
            if group.number in COUNTED:
                self._unmapped_at[group.number] = self._step
            self._munmaps += 1
            self.blocks.unmap_segment(start)

    def _count_bounce(self, number: int) -> None:
        """Count a mapping soon after an unmapping in the same class (a bounce)."""
        last = self._unmapped_at[number]
        if last and self._step - last < _SOON and self._bounces_count:
            more = self._bounces[number] + 1
            self._bounces[number] = _REMEMBERED if more >= _BOUNCES else more

    def _advance(self) -> None:
        self._step += 1
        if self._step > _LAST_STEP:
            self._step = 1
            self._unmapped_at = [0] * len(SIZES)

    # The system.

    def _map(self, size: int) -> Mapping:
        base = self.blocks.map_segment(size)
        self.growths += 1
        self._mmaps += 1
        return Mapping(self._mmaps - 1, base, size)

    def _map_alone(self, request: int) -> Group:
        """Map memory for one object."""
        mapping = self._map(round_up(request + self._tag + self._head, PAGE))
        self._advance()
        self._take_record()
        stride = mapping.size - self._head
        group = Group(ALONE, mapping, mapping.base + self._head, stride, 1, 0)
        group.avail = group.freed = 0
        return self._lay_out(group)

    def _remap(self, address: int, size: int) -> int:
        """Resize the mapping of an object."""
        held = self._objects[address]
        group, mapping = held.group, held.group.mapping
        place = held.at - mapping.base
        needed = round_up(size + place + self._tag, PAGE)
        if needed != mapping.size:
            self.blocks.take_room(needed - mapping.size)
            self._mremaps += 1
            while self.block_size(mapping.base) < mapping.size:
                self.blocks.join(mapping.base)
            base = self.blocks.map_in_place_of(needed, mapping.size)
            self._move_pages(base, mapping.base, min(needed, mapping.size))
            self.blocks.unmap_segment(mapping.base)
            mapping.base, mapping.size = base, needed
            group.first, group.stride = mapping.base + self._head, needed - self._head
            self._lay_out(group)
            self.blocks.mark(group.first, State.ALLOCATED)
        del self._objects[address]
        held.at = mapping.base + place
        if self._has_headers:
            self.touch(group.first + group.stride - self._tag, 1)
        self._objects[group.first] = held
        self._end(held, size)
        return group.first

    def _move_pages(self, base: int, source: int, size: int) -> None:
        residence = self.blocks.residence
        for start, end in residence.within(source, size) if residence else ():
            self.touch(base + start - source, end - start)

    def _offer(self, group: Group, slot: int) -> None:
        """Count the whole pages of a freed slot that MADV_FREE offers; they stay resident."""
        start, end = group.start(slot), group.start(slot) + group.stride - self._tag
        if self._offers and (start - 1) ^ end >= 2 * PAGE and group.count > 1:
            size = end // PAGE * PAGE - round_up(start, PAGE)
            if size > 0:
                self._madvises += 1
                self._madvised += size

    def _take_record(self) -> None:
        """Use a record for a group. A new page of the break provides more records."""
        if not self._has_headers:
            return
        if self._spare_records:
            self._spare_records -= 1
            return
        if self._records % _RECORDS == 0:
            pages = 2 if not self._records else 1  # below the first area is a guard
            with needed_by_allocator():
                area = self._grow(pages * PAGE)
            self.blocks.mark(area, State.TABLE)
            self.touch(area + (pages - 1) * PAGE, 1)
        self._records += 1
