"""Groups of slots, and the bytes in memory that decide the place of an object in its slot."""

from __future__ import annotations

from dataclasses import dataclass, field

_UNIT = 16
_TELLING = (13, 14)


class Memory:
    """The two bytes of each unit of a mapping that decide an object's offset in its slot.

    If byte 13 of the unit before a slot is not 0, byte 14 contains the latest offset.
    """

    def __init__(self, size: int) -> None:
        self._bytes = {place: bytearray(size // _UNIT) for place in _TELLING}

    def fill(self, at: int, size: int, value: int) -> None:
        """Write a value to `size` bytes."""
        for place, values in self._bytes.items():
            first, end = _units(at, size, place)
            values[first:end] = bytes([value]) * (end - first)

    def copy(self, at: int, source: Memory, start: int, size: int) -> None:
        """Copy bytes that begin at `start` of another mapping, at the same offset in a unit."""
        for place, values in self._bytes.items():
            first, end = _units(at, size, place)
            low, _ = _units(start, size, place)
            values[first:end] = source._bytes[place][low : low + end - first]

    def write(self, at: int, value: int) -> None:
        """Write one byte; only bytes 13 and 14 of a unit are stored."""
        if at % _UNIT in _TELLING:
            self._bytes[at % _UNIT][at // _UNIT] = value

    def read(self, at: int) -> int:
        """Return byte 13 or 14 of a unit."""
        return self._bytes[at % _UNIT][at // _UNIT]


def _units(at: int, size: int, place: int) -> tuple[int, int]:
    """Return the range of units whose byte `place` is among `size` bytes from `at` on."""
    return -((place - at) // _UNIT), -((place - at - size) // _UNIT)


@dataclass(eq=False)
class Mapping:
    """Memory from one call of mmap. `memory` is None if it contains a single object."""

    number: int
    base: int
    size: int
    memory: Memory | None = None


@dataclass(eq=False)
class Group:
    """Slots of one class. `avail` and `freed` have one bit per slot, the lowest for slot 0.

    Slots that are neither available nor freed are in use. Slots above `active` are not allocated
    yet. `host` is the group and the slot that contain this group, or None.
    """

    number: int
    mapping: Mapping
    first: int
    """Address of slot 0."""
    stride: int
    count: int
    active: int
    host: tuple[Group, int] | None = None
    avail: int = field(init=False)
    freed: int = field(init=False)

    def __post_init__(self) -> None:
        self.avail = (2 << self.active) - 1
        self.freed = self.all - self.avail

    @property
    def all(self) -> int:
        """Bits of all slots."""
        return (1 << self.count) - 1

    def start(self, slot: int) -> int:
        """Return the start of a slot."""
        return self.first + slot * self.stride

    def activate(self) -> None:
        """Make all freed slots up to `active` available."""
        self.avail = self.freed & (2 << self.active) - 1
        self.freed -= self.avail

    def take(self) -> int:
        """Take the lowest available slot."""
        slot = (self.avail & -self.avail).bit_length() - 1
        self.avail -= 1 << slot
        return slot
