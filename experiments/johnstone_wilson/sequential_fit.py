"""The nine sequential fits with every choice that the paper leaves open as a parameter.

As it stands a policy is the catalogue's own, to the address. Sections 2.1.1 to 2.1.3 name the fits
and the orders of the list and say nothing on the rest.
"""

from __future__ import annotations

from typing import Any, Literal

from simalloc.policy import Block, Fit, Heap, Order, UserPolicy


class SequentialFit(UserPolicy):
    """First, next or best fit over one list of free blocks, read in one of several ways."""

    fit = Fit.FIRST
    order = Order.ADDRESS
    growth = 64 << 10
    high = False
    """True if the high end of a split block is allocated, not the low one."""
    enters = False
    """True if the remainder of a split enters the list as if newly freed, instead of taking the
    block's place; next fit's rover then moves past it."""
    tail = True
    """True if the heap grows by the bytes that the free block at its end lacks, not by the
    request."""

    def begin(self, trace: Any) -> None:  # noqa: ARG002 - none of these looks ahead
        """Look the choices up once, and not at every event."""
        self._order: Literal["ao", "lifo", "fifo"] = self.order.value
        self._search = f"{self.fit.value}_fit"
        self._cut = "split_high" if self.high else "split"
        self._moves_rover = self.fit is Fit.NEXT

    def malloc(self, heap: Heap, size: int) -> Block | None:
        """Find a block, or grow the heap, and cut the request off."""
        block = getattr(heap, self._search)(size, self._order) or self._grow(heap, size)
        if block is None:
            return None
        given: Block = getattr(heap, self._cut)(block, size)
        if self.enters and given is not block:
            heap.insert(heap.remove(block))
        return given

    def free(self, heap: Heap, block: Block) -> None:
        """Merge a block with its neighbours and list it."""
        heap.insert(heap.merge(block))

    def _grow(self, heap: Heap, size: int) -> Block | None:
        if self.tail:
            block = heap.grow(size, self.growth)
        else:
            block = heap.extend(-(-size // self.growth) * self.growth)
            if block is not None:
                heap.insert(heap.merge(block))
        if block is not None and self._moves_rover:
            return heap.next_fit(size, self._order) or block
        return block
