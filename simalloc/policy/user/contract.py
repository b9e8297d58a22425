"""The heap and its blocks, as policies in Python see them.

The C core and the reference engine both implement these types. Sizes and addresses are in scaled
bytes. An impossible operation raises `PolicyError`, and leaves the heap unchanged.
"""

from __future__ import annotations

from typing import Literal, Protocol, overload

OrderName = Literal["ao", "lifo", "fifo"]
"""Lowest address first; latest to enter the lists first; earliest first."""


class Block(Protocol):
    """A block of the heap: held by an object of the program, or free.

    A free block is listed, that is on the lists that the heap searches, or unsearchable, on none. A
    block is the same Python object for as long as it exists, so it can be compared with `is` and be
    a key of a dict. When it is joined to another block it is no more, and any use is an error.
    """

    @property
    def address(self) -> int:
        """Where it begins."""

    @property
    def size(self) -> int:
        """Size of the block in bytes."""

    @property
    def previous(self) -> Block | None:
        """The block just below in memory."""

    @property
    def next(self) -> Block | None:
        """The block just above in memory."""

    @property
    def is_free(self) -> bool:
        """True if no object of the program holds the block."""

    @property
    def is_listed(self) -> bool:
        """True if the block is on the lists."""


class Heap(Protocol):
    """The heap `[0, size)`, tiled by blocks. It can be used within `malloc` and `free` only.

    The searches find listed blocks. Each order is maintained from its first use, and costs nothing
    before. No search or change takes longer than O(log n) in the number of listed blocks.
    """

    @property
    def size(self) -> int:
        """The break."""

    @property
    def event(self) -> int:
        """The number of the event under way, from 0, as the trace's columns count."""

    @property
    def first(self) -> Block | None:
        """The lowest block."""

    @property
    def last(self) -> Block | None:
        """The block that ends at the break."""

    def first_fit(
        self, size: int, order: OrderName = "ao", after: Block | None = None, /
    ) -> Block | None:
        """Return the first listed block of at least `size` bytes, of those behind `after` if given.

        A search after a block goes by `ao` or `fifo`.
        """

    def next_fit(self, size: int, order: OrderName = "ao", /) -> Block | None:
        """Return the first listed block of at least `size` bytes from the rover on.

        The rover then stands on it; sequential_fit.md says how it moves when that block leaves the
        list. The lists of `lifo` and `fifo` are next fit's own: blocks enter before the rover.
        """

    def best_fit(self, size: int, order: OrderName = "ao", /) -> Block | None:
        """Return the smallest listed block of at least `size` bytes, of equals the first."""

    def worst_fit(self, size: int, order: OrderName = "ao", /) -> Block | None:
        """Return the largest listed block if it has `size` bytes, of equals the first."""

    def free_blocks(self, order: OrderName = "ao", /) -> list[Block]:
        """Return all listed blocks, in O(n)."""

    @overload
    def split(self, block: Block, size: int, /) -> Block: ...
    @overload
    def split(self, block: Block | None, size: int, /) -> Block | None: ...
    def split(self, block: Block | None, size: int, /) -> Block | None:
        """Cut the low `size` bytes off a free block and return them, unsearchable.

        The remainder is still `block`, and keeps its place on the lists. If nothing remains,
        `block` itself leaves the lists and is returned. None returns None, so that the result of a
        growth, which may be refused, can be passed on.
        """

    @overload
    def split_high(self, block: Block, size: int, /) -> Block: ...
    @overload
    def split_high(self, block: Block | None, size: int, /) -> Block | None: ...
    def split_high(self, block: Block | None, size: int, /) -> Block | None:
        """Do the same with the high `size` bytes."""

    def merge(self, block: Block, /) -> Block:
        """Join a free block with its listed neighbours; return it, unsearchable."""

    def join(self, block: Block, neighbour: Block, /) -> Block:
        """Join two adjacent free blocks; return `block`, unsearchable. `neighbour` is no more."""

    def insert(self, block: Block, /) -> Block:
        """List an unsearchable block, as the latest, and return it."""

    def remove(self, block: Block, /) -> Block:
        """Take a block off the lists and return it, unsearchable."""

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
        """Count blocks that the policy has visited by itself.

        The searches count the blocks that a walk would visit. All searches of a `malloc` count as
        one; searches after a growth are not counted.
        """
