"""The minimum height of a few buffers, found by enumeration of all placements that can be minimal.

This module shares no code with the search that it checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Use(NamedTuple):
    """A time interval, end excluded, and the bytes in use, relative to the buffer's address."""

    begin: int
    end: int
    low: int
    high: int


class Placed(NamedTuple):
    """A buffer's number and its address."""

    number: int
    address: int


class Buffer(NamedTuple):
    """A buffer that lives from `lower` until just before `upper`, with gaps in order of time.

    In a gap, only the gap's bytes are in use; a gap whose `high` is 0 uses none.
    """

    lower: int
    upper: int
    size: int
    alignment: int = 1
    gaps: tuple[Use, ...] = ()

    @property
    def uses(self) -> list[Use]:
        """Time intervals in which the buffer is in use, each with the bytes in use."""
        ends = [self.lower, *(gap.end for gap in self.gaps)]
        begins = [*(gap.begin for gap in self.gaps), self.upper]
        whole = [Use(end, begin, 0, self.size) for end, begin in zip(ends, begins, strict=True)]
        return [use for use in (*whole, *self.gaps) if use.begin < use.end and use.high]

    @property
    def is_whole(self) -> bool:
        """True if the buffer uses either all of its bytes or none at any time."""
        return all(use.high - use.low == self.size for use in self.uses)


def min_height(buffers: Sequence[Buffer]) -> int:
    """Return the minimum height (bytes) over all placements."""
    placements = _Placements(buffers)
    height = _peak(buffers)
    if all(buffer.is_whole for buffer in buffers):
        most = sum(buffer.size + buffer.alignment for buffer in buffers)
        return placements.by_orders(dict.fromkeys(range(len(buffers)), 0), 0, 0, most, height)
    while not placements.fit([], height):
        height += 1
    return height


def clashes(one: Buffer, other: Buffer) -> list[tuple[int, int]]:
    """Return the distances, both excluded, at which two buffers use a byte at once.

    A distance is the bytes by which the first is located above the other.
    """
    return [
        (b.low - a.high, b.high - a.low)
        for a in one.uses
        for b in other.uses
        if a.begin < b.end and b.begin < a.end
    ]


def _peak(buffers: Sequence[Buffer]) -> int:
    """Return the maximum of bytes in use at once; it occurs at the beginning of a use."""
    uses = [use for buffer in buffers for use in buffer.uses]
    return max(sum(use.high - use.low for use in uses if use.begin <= moment < use.end)
               for moment in {use.begin for use in uses})  # fmt: skip


class _Placements:
    """Placements of some buffers, enumerated by buffer number."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self._buffers = buffers
        self._clashes = [[clashes(one, other) for other in buffers] for one in buffers]

    def by_orders(self, left: dict[int, int], last: int, height: int, best: int, peak: int) -> int:
        """Return the minimum height with the remaining buffers above the others, at most `best`.

        Some optimal placement places whole buffers in order of address, each as low as the earlier
        buffers allow. Therefore this method enumerates all orders. `left` contains the lowest
        allowed address of each remaining buffer, `last` is the address of the buffer placed last,
        and `height` is the height so far.
        """
        if not left:
            return height
        for one, address in left.items():
            size = self._buffers[one].size
            if address < last or max(height, address + size) >= best:
                continue
            rest = {each: self._above(each, low, one, address)
                    for each, low in left.items() if each != one}  # fmt: skip
            if all(low + self._buffers[each].size < best for each, low in rest.items()):
                best = self.by_orders(rest, address, max(height, address + size), best, peak)
            if best == peak:
                break
        return best

    def fit(self, placed: list[Placed], height: int) -> bool:
        """Return whether the unplaced buffers fit below a height at any addresses."""
        one = len(placed)
        if one == len(self._buffers):
            return True
        buffer = self._buffers[one]
        return any(
            self.fit([*placed, Placed(one, address)], height)
            for address in range(0, height - buffer.size + 1, buffer.alignment)
            if not self._clash(one, address, placed)
        )

    def _above(self, one: int, low: int, other: int, start: int) -> int:
        """Return the lowest address, `low` or higher, where a buffer does not overlap another."""
        if not self._clash(one, low, [Placed(other, start)]):
            return low
        alignment = self._buffers[one].alignment
        return -(-(start + self._buffers[other].size) // alignment) * alignment

    def _clash(self, one: int, address: int, placed: Sequence[Placed]) -> bool:
        """Return whether a buffer at an address would share a byte with a placed one."""
        return any(
            under < address - start < over
            for other, start in placed
            for under, over in self._clashes[one][other]
        )
