"""The common interface of every family's heap, and the steps of their rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from simalloc.heap.reference.layers.front import Front
from simalloc.heap.reference.space import Blocks, State

if TYPE_CHECKING:
    from simalloc.trace.trace import Trace


class Request(NamedTuple):
    """The current event's request. Values that the trace lacks, or the policy does not use, are 0.

    `size` is in program bytes, `alignment` in scaled bytes (0: none), `time` in nanoseconds.
    `is_zeroed` is true for a calloc, and `unwritten` is the number of the object's last bytes that
    are never written.
    """

    size: int = 0
    alignment: int = 0
    thread: int = 0
    time: int = 0
    site: int = 0
    stream: int = 0
    pool: int = 0
    unwritten: int = 0
    is_zeroed: bool = False


class Heap(ABC):
    """A heap under one policy; sizes and addresses are in scaled bytes.

    Sizes are block sizes, including headers. `growths`, `splits` and `coalescings` count from the
    start. `visited` belongs to the latest malloc (docs/policies.md, The heap and the replay).
    `deallocations` counts the deallocations that searched for the block's place, and
    `visited_at_free` is the total of the blocks that they visited. `event` is the number of the
    current event, `trace` the replayed trace, and `request` the event's request. `front` receives
    the program's calls: it is the heap itself, or a layer above it.
    """

    counts_frees: ClassVar[bool] = False
    """True if the family always counts deallocations, not only on request."""

    merges_new_memory: bool = True
    """True if new memory joins a free block at the break; False where blocks have fixed sizes."""

    def __init__(self, *, has_break: bool = True) -> None:
        self.blocks = Blocks(has_break=has_break)
        self.front: Heap | Front = self
        self.growths = 0
        self.splits = 0
        self.coalescings = 0
        self.visited = 0
        self.deallocations = 0
        self.visited_at_free = 0
        self.visited_at_free_worst = 0
        self.coalescing_frees = 0
        self.event = 0
        self.mappings: list[tuple[int, int, int]] = []
        """Mappings of a device: event, address, and bytes, negative for unmapped memory."""
        self.scale = 1
        self.trace: Trace | None = None
        self.request = Request()
        self.threads = 1
        self.other_threads = 0
        self.program_writes = True

    @abstractmethod
    def malloc(self, size: int) -> int:
        """Return the address of a block of at least `size` bytes.

        Raises `SimallocError` if addresses are exhausted, and `Refused` if the capacity does not
        allow the growth that the request needs.
        """

    @abstractmethod
    def free(self, address: int) -> None:
        """Take back an allocated block."""

    @abstractmethod
    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Resize an allocated block to hold `size` bytes in place; return whether it succeeded."""

    def reallocate(self, address: int, size: int) -> int:
        """Resize an allocated block to hold `size` bytes; return its address, which may change.

        Families whose allocator reallocates differently override this method.
        """
        if self.reallocate_in_place(address, size):
            return address
        new = self.front.malloc(size)
        self.front.free(address)
        return new

    def use(self, address: int) -> None:  # noqa: B027 - heaps take no notice
        """Record that the request's stream uses the block."""

    def after_event(self) -> None:  # noqa: B027 - most heaps keep no books
        """Update the family's own records after an event."""

    def end_thread(self) -> None:  # noqa: B027 - most heaps know no threads
        """Release the caches and records of the request's thread, which exits."""

    def give_back(self) -> None:  # noqa: B027 - most heaps keep nothing back
        """Return cached memory to the system, as malloc_trim and similar calls request."""

    def figures(self) -> dict[str, int]:
        """Return the allocator's own statistics, by its own names."""
        return {}

    def locate(self, address: int) -> tuple[int, int, int]:
        """Return region, number and offset of the object in the block at `address`.

        `Family.spell_location` formats them as text.
        """
        return 0, 0, address

    @property
    def resident(self) -> int:
        """Bytes of all resident pages; 0 if residence is not measured."""
        return 0 if self.blocks.residence is None else self.blocks.residence.bytes

    def resident_in(self, address: int, size: int) -> int:
        """Return the bytes of the resident pages that begin in these bytes; 0 if not measured."""
        residence = self.blocks.residence
        return 0 if residence is None else residence.bytes_in(address, size)

    def touch(self, address: int, size: int) -> None:
        """Record a write to these bytes: their pages become resident."""
        if self.blocks.residence is not None:
            self.blocks.residence.touch(address, size)

    def discard(self, address: int, size: int) -> None:
        """Return the pages that are wholly within these bytes to the system; they remain mapped."""
        if self.blocks.residence is not None:
            self.blocks.residence.discard(address, size)

    def use_huge_pages(self, address: int, size: int) -> None:
        """Allow huge pages for each whole huge page within these bytes."""
        if self.blocks.residence is not None:
            self.blocks.residence.use_huge_pages(address, size)

    def rounded(self, size: int) -> int:
        """Return the size of the family's block for `size` bytes."""
        return size

    def trim(self) -> None:  # noqa: B027 - most heaps never fall
        """Lower the break if the family's rules require it. Called after each free."""

    @abstractmethod
    def listed(self) -> Iterable[int]:
        """Return the addresses of all blocks in the family's free structures."""

    def walk_to(self, address: int) -> int:  # noqa: ARG002 - most heaps know the place
        """Return the number of free blocks that the search for a freed block's place visits."""
        return 0

    def count_deallocation(self, visited: int, *, merged: bool) -> None:
        """Count a deallocation that visited `visited` blocks to find its block's place."""
        self.deallocations += 1
        self.coalescing_frees += merged
        self.visited_at_free += visited
        self.visited_at_free_worst = max(self.visited_at_free_worst, visited)

    def cached(self) -> Iterable[int]:
        """Return the addresses of the blocks that the family itself keeps cached."""
        return ()

    @property
    def brk(self) -> int:
        """Break: the end of the segment that begins at 0 and can be raised and lowered."""
        return self.blocks.brk

    @property
    def allocated(self) -> int:
        """Bytes in allocated blocks, including headers and rounding."""
        return self.blocks.total[State.ALLOCATED]

    @property
    def free_block_count(self) -> int:
        """Number of free blocks, including cached blocks."""
        return self.blocks.count[State.FREE] + self.blocks.count[State.CACHED]

    def block_size(self, address: int) -> int:
        """Return the size of the block at `address`, including headers."""
        return self.blocks.size[address]

    @property
    def largest_free_block(self) -> int:
        """Size in bytes of the largest free block; cached blocks are excluded.

        Under a capacity, the bytes that can still be mapped count as one block. A free block at the
        break is added to it if new memory merges with that block.
        """
        blocks, last = self.blocks, self.blocks.last
        largest = max((size for _, size in self.free_blocks()), default=0)
        if blocks.limit is None:
            return largest
        tail = blocks.size[last] if self.merges_new_memory and blocks.is_free(last) else 0
        return max(largest, blocks.limit - blocks.mapped + tail)

    def free_blocks(self) -> list[tuple[int, int]]:
        """Return address and size of every free block, by address."""
        return self.blocks.in_state(State.FREE)

    def check(self) -> None:
        """Assert every invariant of the heap; families add their own."""
        self.blocks.check()
        free = [address for address, _ in self.free_blocks()]
        assert sorted(self.listed()) == free, "the lists hold exactly the free blocks"

    def _grow(self, size: int) -> int:
        """Raise the break by `size`; return the new block, which is marked as allocated."""
        address = self.blocks.extend(size)
        self.growths += 1
        return address

    def _lower(self, size: int) -> None:
        """Cut `size` bytes off the block that ends at the break, and lower the break by `size`."""
        self.blocks.lower(size)

    def _split(self, address: int, size: int) -> int:
        """Cut a block in two, the low one of `size`; return the address of the high one."""
        self.splits += 1
        return self.blocks.cut(address, size)

    def _merge_freed(self, address: int, leave: Callable[[int], None]) -> int:
        """Free a block and merge it with its free neighbours; return the address of the result.

        `leave` removes a neighbour from the family's structures.
        """
        self.blocks.mark(address, State.FREE)
        neighbours = self.blocks.free_neighbours(address)
        for neighbour in neighbours:
            leave(neighbour)
        merged = min([address, *neighbours])
        for _ in neighbours:
            self._coalesce(merged)
        return merged

    def _check_merged(self) -> None:
        """Assert that no two free blocks are neighbours."""
        for address, _ in self.free_blocks():
            assert not self.blocks.free_neighbours(address), "free neighbours have coalesced"

    def _coalesce(self, address: int) -> None:
        """Join a free block and its free successor; `address` is the low block's."""
        self.coalescings += 1
        self.blocks.join(address)
