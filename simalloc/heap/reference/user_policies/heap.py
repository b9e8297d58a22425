"""The heap of a policy in Python (simalloc/policy/user/contract.py), in plain Python."""

from __future__ import annotations

from collections.abc import Iterable

from simalloc.errors import PolicyError
from simalloc.heap.reference.parts.overhead import round_up
from simalloc.heap.reference.space import MAX_BREAK, Blocks, State
from simalloc.heap.reference.user_policies.block import Place, UserBlock
from simalloc.heap.reference.user_policies.lists import Lists, first_of
from simalloc.policy.user import OrderName


class UserHeap:
    """The heap that a policy acts on.

    `acting` is true while the policy may act. `resized` is the block that only `resize` may use, or
    None. `growths`, `splits` and `coalescings` count from the start, `visited` from the latest
    `begin`.
    """

    def __init__(self) -> None:
        self.blocks = Blocks()
        self.lists = Lists()
        self.acting = False
        self.number = 0
        self.resized: UserBlock | None = None
        self.growths = self.splits = self.coalescings = self.visited = 0
        self._by_address: dict[int, UserBlock] = {}
        self._grown = False

    def begin(self) -> None:
        """Begin an allocation. Its searches count as one search."""
        self.visited = 0
        self._grown = False

    def at(self, address: int | None) -> UserBlock | None:
        """Return the block at an address, or None."""
        return None if address is None else self._by_address.get(address)

    @property
    def size(self) -> int:
        """Break: the size of the heap."""
        return self.blocks.brk

    @property
    def event(self) -> int:
        """Number of the current event."""
        return self.number

    @property
    def first(self) -> UserBlock | None:
        """Lowest block, or None."""
        return self.at(0)

    @property
    def last(self) -> UserBlock | None:
        """Block that ends at the break, or None."""
        return self.at(self.blocks.last)

    def first_fit(
        self, size: int, order: OrderName = "ao", after: UserBlock | None = None, /
    ) -> UserBlock | None:
        """Return the first listed block that is large enough, of the blocks behind `after`."""
        self._demand(size, order)
        blocks = self.lists.ordered(order)
        if after is not None:
            self._demand_block(after, Place.LISTED)
            if order == "lifo":
                raise PolicyError("a search after a block needs order 'ao' or 'fifo'")
            blocks = blocks[blocks.index(after) + 1 :]
        return self._found(*first_of(blocks, size))

    def next_fit(self, size: int, order: OrderName = "ao", /) -> UserBlock | None:
        """Return the first listed block that is large enough from the rover on."""
        self._demand(size, order)
        return self._found(*self.lists.ring(order).search(size))

    def best_fit(self, size: int, order: OrderName = "ao", /) -> UserBlock | None:
        """Return the smallest listed block that is large enough; the first of equal ones."""
        self._demand(size, order)
        blocks = self.lists.ordered(order)
        fitting = (block for block in blocks if block.size >= size)
        # min() and max() return the first of equals.
        return self._found(min(fitting, key=lambda block: block.size, default=None), len(blocks))

    def worst_fit(self, size: int, order: OrderName = "ao", /) -> UserBlock | None:
        """Return the largest listed block if it is large enough; the first of equal ones."""
        self._demand(size, order)
        blocks = self.lists.ordered(order)
        largest = max(blocks, key=lambda block: block.size, default=None)
        fits = largest is not None and largest.size >= size
        return self._found(largest if fits else None, len(blocks))

    def free_blocks(self, order: OrderName = "ao", /) -> list[UserBlock]:
        """Return all listed blocks."""
        self._demand(1, order)
        return self.lists.ordered(order)

    def visit(self, count: int, /) -> None:
        """Count blocks that the policy has visited itself."""
        self._demand(count + 1)
        self.visited += count

    def split(self, block: UserBlock | None, size: int, /) -> UserBlock | None:
        """Cut the low end off a free block."""
        if block is None:
            return None
        address = self._demand_cut(block, size)
        if size == block.size:
            return self._unlist(block)
        self._cut(address, size)
        self._by_address[address] = low = UserBlock(self, address)
        block.move_to(address + size)
        self._by_address[address + size] = block
        return low

    def split_high(self, block: UserBlock | None, size: int, /) -> UserBlock | None:
        """Cut the high end off a free block."""
        if block is None:
            return None
        address = self._demand_cut(block, size)
        if size == block.size:
            return self._unlist(block)
        high = address + block.size - size
        self._cut(address, block.size - size)
        self._by_address[high] = UserBlock(self, high)
        return self._by_address[high]

    def merge(self, block: UserBlock, /) -> UserBlock:
        """Join a free block with its listed neighbours."""
        self._demand_block(block, Place.UNSEARCHABLE, Place.LISTED)
        for neighbour in (block.previous, block.next):
            if neighbour is not None and neighbour.place is Place.LISTED:
                self.join(block, neighbour)
        return self._unlist(block)

    def join(self, block: UserBlock, neighbour: UserBlock, /) -> UserBlock:
        """Join two adjacent free blocks."""
        self._demand_block(block, Place.UNSEARCHABLE, Place.LISTED)
        self._demand_block(neighbour, Place.UNSEARCHABLE, Place.LISTED)
        if neighbour not in (block.previous, block.next):
            raise PolicyError(f"{block} and {neighbour} are not neighbours")
        self._unlist(block)
        self._unlist(neighbour)
        low = min(block.address, neighbour.address)
        for one in (block, neighbour):
            del self._by_address[one.address]
        self.blocks.join(low)
        self.coalescings += block is not self.resized
        neighbour.place = Place.NOWHERE
        block.move_to(low)
        self._by_address[low] = block
        return block

    def insert(self, block: UserBlock, /) -> UserBlock:
        """List an unsearchable block."""
        self._demand_block(block, Place.UNSEARCHABLE)
        block.place = Place.LISTED
        self.lists.enter(block)
        return block

    def remove(self, block: UserBlock, /) -> UserBlock:
        """Take a block off the lists."""
        self._demand_block(block, Place.LISTED)
        return self._unlist(block)

    def extend(self, size: int, /) -> UserBlock | None:
        """Raise the break; None if the capacity does not allow it."""
        self._demand(size)
        if not self.blocks.has_room(size):
            return None
        address = self.blocks.extend(size)
        self.blocks.mark(address, State.FREE)
        self._by_address[address] = block = UserBlock(self, address)
        self.growths += 1
        self._grown = True
        return block

    def grow(self, size: int, unit: int = 1, /) -> UserBlock | None:
        """Grow the listed block at the break to at least `size`; return None as `extend` does."""
        self._demand(size)
        self._demand(unit)
        last = self.last
        there = last.size if last is not None and last.place is Place.LISTED else 0
        if last is not None and there >= size:
            return last
        new = self.extend(round_up(size - there, unit))
        return None if new is None else self.insert(self.merge(new))

    def hold(self, block: UserBlock, size: int) -> int:
        """Give an unsearchable block of at least `size` bytes to an object; return its address."""
        self._demand_place(block, Place.UNSEARCHABLE)
        if block.size < size:
            raise PolicyError(f"{block} cannot hold {size} bytes")
        block.place = Place.HELD
        self.blocks.mark(block.address, State.ALLOCATED)
        return block.address

    def let_go(self, address: int) -> UserBlock:
        """Make a held block unsearchable."""
        block = self._by_address[address]
        block.place = Place.UNSEARCHABLE
        self.blocks.mark(address, State.FREE)
        return block

    def listed(self) -> Iterable[UserBlock]:
        """Iterate over the listed blocks."""
        return self.lists.ordered("ao")

    def _unlist(self, block: UserBlock) -> UserBlock:
        if block.place is Place.LISTED:
            self.lists.leave(block)
            block.place = Place.UNSEARCHABLE
        return block

    def _cut(self, address: int, size: int) -> None:
        self.blocks.cut(address, size)
        self.splits += 1

    def _found(self, block: UserBlock | None, visited: int) -> UserBlock | None:
        if not self._grown:
            self.visited += visited
        return block

    def _demand_cut(self, block: UserBlock, size: int) -> int:
        self._demand(size)
        self._demand_block(block, Place.UNSEARCHABLE, Place.LISTED)
        if size > block.size:
            raise PolicyError(f"{block} has {block.size} bytes; {size} bytes cannot be split off")
        return block.address

    def _demand_block(self, block: object, *places: Place) -> None:
        self._demand(1)
        self._demand_place(block, *places)

    def _demand_place(self, block: object, *places: Place) -> None:
        if not isinstance(block, UserBlock) or self.at(block.address) is not block:
            raise PolicyError(f"{block!r} is not a Block of this heap")
        if block.place not in places:
            raise PolicyError(f"{block} is not {' or '.join(one.value for one in places)}")

    def _demand(self, size: int, order: OrderName = "ao") -> None:
        if not self.acting:
            raise PolicyError("the heap can be used only within malloc, free and resize")
        if not isinstance(size, int) or not 1 <= size <= MAX_BREAK:
            raise PolicyError(f"{size!r} is not a number from 1 to 2**62")
        if order not in ("ao", "lifo", "fifo"):
            raise PolicyError(f"order is {order!r}; use 'ao', 'lifo' or 'fifo'")
