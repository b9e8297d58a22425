"""Best fit through bins, with a last remainder and a wilderness."""

from __future__ import annotations

from sortedcontainers import SortedList

from simalloc.heap.reference.parts.coalescing import CoalescingHeap
from simalloc.policy.families.binned_fit import BinnedFit, LastRemainder


class BinnedFitHeap(CoalescingHeap):
    """Lea's allocator as a policy.

    Johnstone & Wilson 1998, section 2.2.2; policy/families/binned_fit.md. A free block is the
    wilderness, the last remainder, or in a bin.
    """

    def __init__(self, description: BinnedFit) -> None:
        super().__init__(description, description.growth)
        self._may_use_remainder = description.last_remainder
        self._small = description.small
        # All bins in one list of (size, time of entry, address): the oldest of equal sizes is
        # first.
        self._bins: SortedList[tuple[int, int, int]] = SortedList()
        self._entered: dict[int, int] = {}
        self._clock = 0
        self._last_remainder: int | None = None
        # Free block that ends at the break, or None.
        self._wilderness: int | None = None

    def malloc(self, size: int) -> int:
        """Take the five steps of policy/families/binned_fit.md: Allocation."""
        self.visited = 0
        found = self._exact_fit(size)
        if found is None:
            found = self._use_last_remainder(size)
        if found is None:
            found = self._best_fit(size)
        if found is None:
            found = self._use_wilderness(size)
        return found

    def free(self, address: int) -> None:
        """Merge with free neighbours; the result is wilderness, last remainder or binned.

        A block that ends at the break is the wilderness. Another block is the last remainder if
        that was a neighbour. All others enter the bins.
        """
        beside_remainder = self._last_remainder in self.blocks.free_neighbours(address)
        merged = self._merge(address)
        if self.blocks.after(merged) is None:
            self._wilderness = merged
        elif beside_remainder:
            self._last_remainder = merged
        else:
            self._enter_bins(merged)

    def listed(self) -> list[int]:
        """Return the blocks in the bins by size and age, the last remainder and the wilderness."""
        special = (self._last_remainder, self._wilderness)
        return [*(address for *_, address in self._bins), *(at for at in special if at is not None)]

    def check(self) -> None:
        """Assert every invariant of the heap."""
        super().check()
        tail = self.blocks.last
        assert self._wilderness == (tail if self.blocks.is_free(tail) else None)
        assert len(self._bins) == len(self._entered)
        for size, entered, address in self._bins:
            assert self.block_size(address) == size, "a block is in the bin of its size"
            assert self._entered[address] == entered
        if self._may_use_remainder is LastRemainder.NONE:
            assert self._last_remainder is None

    def _exact_fit(self, size: int) -> int | None:
        """Take step 1: the oldest binned block of exactly this size."""
        first = self._first_binned(size)
        if first is None or self.block_size(first) != size:
            return None
        self.visited += 1
        self._take(first, size)
        return first

    def _use_last_remainder(self, size: int) -> int | None:
        """Take step 2: the last remainder if it is usable and large enough; else bin it."""
        remainder = self._last_remainder
        if remainder is None:
            return None
        usable = self._may_use_remainder is LastRemainder.ANY or size < self._small
        self.visited += usable
        if usable and self.block_size(remainder) >= size:
            self._take(remainder, size)
            return remainder
        self._last_remainder = None
        self._enter_bins(remainder)
        return None

    def _best_fit(self, size: int) -> int | None:
        """Take step 3: the smallest binned block that fits; the rest is the last remainder."""
        found = self._first_binned(size)
        if found is None:
            return None
        self.visited += 1
        self._leave(found)
        rest = self._allocate_low_end(found, size)
        if self._may_use_remainder is not LastRemainder.NONE:
            self._last_remainder = rest
        elif rest is not None:
            self._enter_bins(rest)
        return found

    def _use_wilderness(self, size: int) -> int:
        """Take steps 4 and 5: the low end of the wilderness, which grows first if too small."""
        if self._wilderness is not None:
            self.visited += 1
        if self._wilderness is None or self.block_size(self._wilderness) < size:
            self.free(self._grow(self._growth_for(size)))
        found = self._wilderness
        assert found is not None, "new memory ends at the break"
        self._take(found, size)
        return found

    def _take(self, address: int, size: int) -> None:
        """Allocate the low end. The remainder keeps the block's role, or enters the bins."""
        was_remainder = address == self._last_remainder
        was_wilderness = address == self._wilderness
        self._leave(address)
        rest = self._allocate_low_end(address, size)
        if was_wilderness:
            self._wilderness = rest
        elif was_remainder:
            self._last_remainder = rest
        elif rest is not None:
            self._enter_bins(rest)

    def _leave(self, address: int) -> None:
        if address == self._wilderness:
            self._wilderness = None
        elif address == self._last_remainder:
            self._last_remainder = None
        else:
            self._bins.remove((self.block_size(address), self._entered.pop(address), address))

    def _enter_bins(self, address: int) -> None:
        self._clock += 1
        self._entered[address] = self._clock
        self._bins.add((self.block_size(address), self._clock, address))

    def _first_binned(self, size: int) -> int | None:
        """Return the smallest binned block of at least `size`, the oldest among equals."""
        place = self._bins.bisect_left((size,))
        return self._bins[place][-1] if place < len(self._bins) else None
