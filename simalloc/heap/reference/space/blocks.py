"""Blocks that tile the heap, and their neighbours in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from math import lcm
from typing import TypeGuard

from simalloc.errors import SimallocError
from simalloc.heap.reference.space.refused import Refused
from simalloc.heap.reference.space.residence import Residence
from simalloc.heap.reference.space.segments import Segments


class State(Enum):
    """States of a block (docs/policies.md, The heap and the replay)."""

    ALLOCATED = "allocated"
    FREE = "free"
    CACHED = "cached"
    """Freed by the program but kept in a cache, and therefore not merged with its neighbours."""
    TABLE = "table"
    """Memory of the allocator itself."""
    WASTE = "waste"
    HOLE = "hole"
    """Addresses within a segment that are not mapped."""

    __hash__ = object.__hash__  # Enum.__hash__ is slow, and each member is a singleton.


class Blocks:
    """Blocks that tile the segments of a heap, each identified by its address.

    `size` and `state` map every block's address to its size and state. Callers may read them, but
    only the methods change them. `count` and `total` contain the number of blocks and their bytes,
    by state. Blocks of two segments are never neighbours, even if one segment begins at the other's
    end. Segments are mapped at multiples of both `segment_alignment` and `page`. `residence` is
    None unless resident pages are measured. `limit` is the maximum of mapped bytes, or None.
    """

    def __init__(self, *, has_break: bool = True) -> None:
        self.segment_alignment = 1
        self.page = 4096
        self.limit: int | None = None
        self.residence: Residence | None = None
        self.size: dict[int, int] = {}
        self.state: dict[int, State] = {}
        self.count = dict.fromkeys(State, 0)
        self.total = dict.fromkeys(State, 0)
        self._segments = Segments(has_break=has_break)
        self._ending_at: dict[int, int] = {}

    @property
    def brk(self) -> int:
        """Break: the end of the segment that begins at 0 and can be raised and lowered."""
        return self._segments.brk

    @property
    def mapped(self) -> int:
        """Bytes obtained from the system and not returned."""
        return sum(self.total.values()) - self.total[State.HOLE]

    @property
    def last(self) -> int | None:
        """Address of the block that ends at the break, or None."""
        return self._ending_at.get(self.brk) if self.brk else None

    def extend(self, size: int) -> int:
        """Raise the break by `size`; return the address of the new block, which is allocated.

        Raises `Refused` beyond the limit, and `SimallocError` if the break would pass `MAX_BREAK`.
        """
        self.take_room(size)
        with self._addresses():
            address = self._segments.raise_break(size)
        self._put(address, size, State.ALLOCATED)
        return address

    def lower(self, size: int) -> None:
        """Cut `size` bytes off the block that ends at the break, and lower the break by `size`."""
        assert self.last is not None, "there is a block below the break"
        address = self.last
        whole, state = self._drop(address)
        assert 0 < size <= whole, "the break is lowered within one block"
        self._segments.lower_break(size)
        self._discard_begun(self.brk, size)
        if size < whole:
            self._put(address, whole - size, state)

    def map_segment(self, size: int, alignment: int = 1) -> int:
        """Map a segment at a multiple of `alignment`; return the address of its only block.

        The block is allocated. Raises `Refused` beyond the limit, and `SimallocError` if no
        addresses are left.
        """
        self.take_room(size)
        return self._put_segment(size, alignment, State.ALLOCATED)

    def map_in_place_of(self, size: int, replaced: int) -> int:
        """Map a segment as mremap does, in place of a block of `replaced` bytes.

        Only the difference counts against the limit. The caller must unmap the replaced block next.
        Returns and raises as `map_segment`.
        """
        self.take_room(size - replaced)
        return self._put_segment(size, 1, State.ALLOCATED)

    def reserve_segment(self, size: int, alignment: int = 1) -> int:
        """Reserve addresses for a segment; return the address of its only block, a hole."""
        return self._put_segment(size, alignment, State.HOLE)

    def take_room(self, size: int) -> None:
        """Raise `Refused` if the limit does not allow `size` more mapped bytes."""
        if not self.has_room(size):
            raise Refused

    def has_room(self, size: int) -> bool:
        """Return whether the limit allows `size` more mapped bytes."""
        return self.limit is None or self.mapped + size <= self.limit

    def _put_segment(self, size: int, alignment: int, state: State) -> int:
        alignment = lcm(max(alignment, self.segment_alignment), self.page)
        with self._addresses():
            address = self._segments.map(size, alignment)
        self._put(address, size, state)
        return address

    @contextmanager
    def _addresses(self) -> Iterator[None]:
        """Turn a lack of addresses into a refusal, if the heap has a limit."""
        try:
            yield
        except SimallocError:
            if self.limit is None:
                raise
            raise Refused from None

    def unmap_segment(self, address: int) -> None:
        """Unmap a mapped segment, which must consist of one block."""
        size, _ = self._drop(address)
        whole = self._segments.unmap(address)
        self._discard_begun(address, whole)
        assert size == whole, "the segment is one block"

    def is_segment(self, address: int) -> bool:
        """Return whether a block is a whole mapped segment."""
        return self._segments.ends.get(address) == address + self.size[address]

    def mark(self, address: int, state: State) -> None:
        """Change the state of a block; the pages of a hole are returned to the system.

        Raises `Refused` for a hole that the limit does not allow to be mapped.
        """
        if self.state[address] is State.HOLE and state is not State.HOLE:
            self.take_room(self.size[address])
        size, _ = self._drop(address)
        self._put(address, size, state)
        if state is State.HOLE and self.residence is not None:
            self.residence.discard(address, size)

    def cut(self, address: int, size: int) -> int:
        """Cut a block into two of its state, the low one of `size`; return the high address."""
        whole, state = self._drop(address)
        assert 0 < size < whole, "a cut leaves two blocks"
        self._put(address, size, state)
        self._put(address + size, whole - size, state)
        return address + size

    def join(self, address: int) -> None:
        """Join a block and its successor; the result has the low block's address and state."""
        assert self.after(address) is not None, "there is a neighbour"
        low, state = self._drop(address)
        high, _ = self._drop(address + low)
        self._put(address, low + high, state)

    def before(self, address: int) -> int | None:
        """Return the address of the preceding block in memory, or None at a segment's start."""
        return None if address in self._segments.ends else self._ending_at.get(address)

    def after(self, address: int) -> int | None:
        """Return the address of the following block in memory, or None at a segment's end."""
        end = address + self.size[address]
        return None if end in self._segments.ends or end not in self.size else end

    def ending_at(self, end: int) -> int | None:
        """Return the address of the block that ends at `end`, or None."""
        return self._ending_at.get(end)

    def take_pages(self, address: int, source: int, size: int) -> None:
        """Copy the residence of the pages from `source` on to `address`, as mremap does.

        Both addresses are page-aligned.
        """
        if self.residence is not None:
            for start, end in self.residence.within(source, size):
                self.residence.touch(address + start - source, end - start)

    def is_free(self, address: int | None) -> TypeGuard[int]:
        """Return whether a free block begins at `address`."""
        return address is not None and self.state.get(address) is State.FREE

    def free_neighbours(self, address: int) -> list[int]:
        """Return the addresses of a block's free neighbours, the lower one first."""
        neighbours = (self.before(address), self.after(address))
        return [block for block in neighbours if self.is_free(block)]

    def in_state(self, state: State) -> list[tuple[int, int]]:
        """Return address and size of the blocks in a state, in address order."""
        return sorted((at, self.size[at]) for at in self.size if self.state[at] is state)

    def check(self) -> None:
        """Assert that the blocks tile the segments, and that the counts are right."""
        assert min(self.size.values(), default=1) > 0, "a block has at least one byte"
        tiled = 0
        for address, end in self._segments.spans():
            at = address
            while at < end:
                at += self.size[at]
                tiled += 1
            assert at == end, "the last block ends with its segment"
        assert len(self.size) == tiled, "every block is in a segment"
        ends = {address + size: address for address, size in self.size.items()}
        assert self._ending_at == ends, "the index of block ends is complete"
        assert self.state.keys() == self.size.keys(), "each block has a state"
        count, total = dict.fromkeys(State, 0), dict.fromkeys(State, 0)
        for address, state in self.state.items():
            count[state] += 1
            total[state] += self.size[address]
        assert (self.count, self.total) == (count, total), "the counts match the states"

    def _discard_begun(self, address: int, size: int) -> None:
        """Return every page that begins in these bytes to the system."""
        if self.residence is not None:
            self.residence.discard(address, size + -(address + size) % self.page)

    def _put(self, address: int, size: int, state: State) -> None:
        self.size[address] = size
        self.state[address] = state
        self.count[state] += 1
        self.total[state] += size
        self._ending_at[address + size] = address

    def _drop(self, address: int) -> tuple[int, State]:
        size, state = self.size.pop(address), self.state.pop(address)
        self.count[state] -= 1
        self.total[state] -= size
        del self._ending_at[address + size]
        return size, state
