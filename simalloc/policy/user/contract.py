"""The heap and its blocks, as policies in Python use them.

The C core and the reference engine both implement these types. Sizes and addresses are in scaled
bytes. An impossible operation raises `PolicyError` and leaves the heap unchanged.
"""

from __future__ import annotations

from typing import Literal, Protocol, overload

OrderName = Literal["ao", "lifo", "fifo"]
""""ao": lowest address first; "lifo": latest entry first; "fifo": earliest entry first."""


class Block(Protocol):
    """A block of the heap: held by an object of the program, or free.

    A free block is either listed, on the lists that the heap searches, or unsearchable, on no list.
    A block is the same Python object as long as it exists, so it can be compared with `is` and be a
    key of a dict. A block that was joined to another block no longer exists, and any use of it is
    an error.
    """

    @property
    def address(self) -> int:
        """Start address."""

    @property
    def size(self) -> int:
        """Size of the block in bytes."""

    @property
    def previous(self) -> Block | None:
        """The block just below in memory, or None."""

    @property
    def next(self) -> Block | None:
        """The block just above in memory, or None."""

    @property
    def is_free(self) -> bool:
        """True if no object of the program holds the block."""

    @property
    def is_listed(self) -> bool:
        """True if the block is on the lists."""


class Heap(Protocol):
    """The heap `[0, size)`, tiled by blocks. It can be used within `malloc` and `free` only.

    The searches find listed blocks. Each order is maintained from its first use on, and costs no
    time before. Each search or change takes at most O(log n) for n listed blocks.
    """

    @property
    def size(self) -> int:
        """Break: the size of the heap."""

    @property
    def event(self) -> int:
        """Index of the current event in the trace's columns, from 0."""

    @property
    def first(self) -> Block | None:
        """Lowest block, or None."""

    @property
    def last(self) -> Block | None:
        """Block that ends at the break, or None."""

    def first_fit(
        self, size: int, order: OrderName = "ao", after: Block | None = None, /
    ) -> Block | None:
        """Return the first listed block of at least `size` bytes, or the first behind `after`.

        A search with `after` requires the order `ao` or `fifo`.
        """

    def next_fit(self, size: int, order: OrderName = "ao", /) -> Block | None:
        """Return the first listed block of at least `size` bytes from the rover on.

        The rover then moves to this block; sequential_fit.md defines its move when the block leaves
        the list. With `lifo` and `fifo`, next fit has separate lists: blocks enter before the
        rover.
        """

    def best_fit(self, size: int, order: OrderName = "ao", /) -> Block | None:
        """Return the smallest listed block of at least `size` bytes; the first of equal ones."""

    def worst_fit(self, size: int, order: OrderName = "ao", /) -> Block | None:
        """Return the largest listed block if it has `size` bytes; the first of equal ones."""

    def free_blocks(self, order: OrderName = "ao", /) -> list[Block]:
        """Return all listed blocks, in O(n)."""

    @overload
    def split(self, block: Block, size: int, /) -> Block: ...
    @overload
    def split(self, block: Block | None, size: int, /) -> Block | None: ...
    def split(self, block: Block | None, size: int, /) -> Block | None:
        """Cut the low `size` bytes off a free block and return them, unsearchable.

        The remainder is still `block` and keeps its place on the lists. If nothing remains, `block`
        itself leaves the lists and is returned. For None, None is returned, so that the result of a
        growth, which may be refused, can be passed on.
        """

    @overload
    def split_high(self, block: Block, size: int, /) -> Block: ...
    @overload
    def split_high(self, block: Block | None, size: int, /) -> Block | None: ...
    def split_high(self, block: Block | None, size: int, /) -> Block | None:
        """Cut the high `size` bytes off a free block and return them, unsearchable; see `split`."""

    def merge(self, block: Block, /) -> Block:
        """Join a free block with its listed neighbours; return it, unsearchable."""

    def join(self, block: Block, neighbour: Block, /) -> Block:
        """Join two adjacent free blocks; return `block`, unsearchable.

        `neighbour` no longer exists.
        """

    def insert(self, block: Block, /) -> Block:
        """List an unsearchable block as the latest, and return it."""

    def remove(self, block: Block, /) -> Block:
        """Remove a block from the lists and return it, unsearchable."""

    def extend(self, size: int, /) -> Block | None:
        """Raise the break by `size` and return the new memory as one unsearchable block.

        Return None, with nothing changed, if the capacity of the heap does not allow it.
        """

    def grow(self, size: int, unit: int = 1, /) -> Block | None:
        """Return the listed block that ends at the break, made large enough for `size` bytes.

        Return None, with nothing changed, if the capacity of the heap does not allow it.

        The break rises by the smallest sufficient multiple of `unit`. The new memory is merged with
        the block and enters the lists. If the block is already large enough, nothing changes.
        """

    def visit(self, count: int, /) -> None:
        """Count blocks that the policy has visited itself.

        The searches count the blocks that a walk would visit. All searches of a `malloc` count as
        one; searches after a growth are not counted.
        """
