"""Blocks that tile the heap, and their neighbours in memory."""

from __future__ import annotations

from enum import Enum
from typing import Final

from simalloc.errors import SimallocError

MAX_BREAK: Final = 1 << 62
"""The highest break, in scaled bytes: sums of two addresses still fit 64 bits."""


class State(Enum):
    """What a block is at the moment (docs/policies.md, The heap and the replay)."""

    ALLOCATED = "allocated"
    FREE = "free"
    WASTE = "waste"


class Blocks:
    """The blocks that tile `[0, brk)`, each known by its address.

    `size` and `state` map every block's address to what it is; read them, and change them through
    the methods only. `count` and `total` have the number of blocks and their bytes by state.
    """

    def __init__(self) -> None:
        self.brk = 0
        self.size: dict[int, int] = {}
        self.state: dict[int, State] = {}
        self.count = dict.fromkeys(State, 0)
        self.total = dict.fromkeys(State, 0)
        self._ending_at: dict[int, int] = {}

    def extend(self, size: int) -> int:
        """Raise the break by `size`; return the address of the one new block, an allocated one.

        Raises `SimallocError` if the break would pass `MAX_BREAK`.
        """
        if self.brk + size > MAX_BREAK:
            raise SimallocError("the heap would exceed 2**62 bytes")
        address = self.brk
        self.brk += size
        self._put(address, size, State.ALLOCATED)
        return address

    def mark(self, address: int, state: State) -> None:
        """Change the state of a block."""
        size, _ = self._drop(address)
        self._put(address, size, state)

    def cut(self, address: int, size: int) -> int:
        """Cut a block in two of its state, the low one of `size`; return the high one's address."""
        whole, state = self._drop(address)
        assert 0 < size < whole, "a cut leaves two blocks"
        self._put(address, size, state)
        self._put(address + size, whole - size, state)
        return address + size

    def join(self, address: int) -> None:
        """Make one block of two neighbours; `address` is the low one's, and its state remains."""
        low, state = self._drop(address)
        high, _ = self._drop(address + low)
        self._put(address, low + high, state)

    def before(self, address: int) -> int | None:
        """Return the address of the block that ends at `address`, which may be the break."""
        return self._ending_at.get(address)

    def after(self, address: int) -> int | None:
        """Return the address of the block that follows in memory."""
        end = address + self.size[address]
        return end if end < self.brk else None

    def is_free(self, address: int | None) -> bool:
        """Say whether there is a free block at `address`."""
        return address is not None and self.state.get(address) is State.FREE

    def free_neighbours(self, address: int) -> list[int]:
        """Return the addresses of the free blocks just below and just above, in this order."""
        neighbours = (self.before(address), self.after(address))
        return [block for block in neighbours if block is not None and self.is_free(block)]

    def in_state(self, state: State) -> list[tuple[int, int]]:
        """Return address and size of the blocks in a state, by address."""
        return sorted((at, self.size[at]) for at in self.size if self.state[at] is state)

    def check(self) -> None:
        """Assert that the blocks tile the heap and that what is counted is there."""
        address = 0
        while address < self.brk:
            size = self.size[address]
            assert size > 0, "a block has at least one byte"
            address += size
            assert self._ending_at[address] == address - size, "the block that ends here is known"
        assert address == self.brk, "the last block ends at the break"
        assert sum(self.size.values()) == self.brk, "no block lies outside of the tiling"
        assert len(self.size) == len(self.state) == len(self._ending_at)
        for state in State:
            blocks = self.in_state(state)
            assert self.count[state] == len(blocks)
            assert self.total[state] == sum(size for _, size in blocks)

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
