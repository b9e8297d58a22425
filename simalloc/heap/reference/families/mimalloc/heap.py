"""What both releases of mimalloc do with the program's calls (policy/families/mimalloc.md)."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from sortedcontainers import SortedDict

from simalloc.heap.reference.heap import Heap
from simalloc.heap.reference.space import State

if TYPE_CHECKING:
    from simalloc.policy.families.mimalloc import Mimalloc

_THREAD_BLOCK = 288
"""The bytes that the C library allocates for each thread that it is to start."""

PageT = TypeVar("PageT")
TheapT = TypeVar("TheapT")


class MimallocHeap(Heap, Generic[PageT, TheapT]):
    """Pages of blocks of one size, each owned by a thread; a release says how they are kept."""

    def __init__(self, description: Mimalloc, main: TheapT) -> None:
        super().__init__()
        self._options = description
        self._mechanism = description.mechanism
        self._theaps = {0: main}
        self._pages: SortedDict[int, PageT] = SortedDict()  # by the first slice's address
        self._calls = 0  # of the program
        self._is_started = False

    @abstractmethod
    def _theap_of_caller(self) -> TheapT:
        """Return what the request's thread has, which is made at its first malloc."""

    @abstractmethod
    def _allocate(self, theap: TheapT, size: int) -> int:
        """Take a block of the thread's first page for its size, or look further."""

    @abstractmethod
    def _allocate_aligned(self, theap: TheapT, size: int, alignment: int) -> int:
        """Take a block that is aligned, or the end of a larger one."""

    @abstractmethod
    def _free_for(self, theap: TheapT | None, address: int) -> None:
        """Give a block to its page on behalf of a thread."""

    def malloc(self, size: int) -> int:
        """Take a block of the thread's first page for its size, or look further."""
        if not self._is_started:
            self._start_program()
        self._calls += 1
        theap = self._theap_of_caller()
        if self.request.alignment > 1:
            return self._allocate_aligned(theap, size, self.request.alignment)
        return self._allocate(theap, size)

    def free(self, address: int) -> None:
        """Give the block to its page, or to the thread that owns the page."""
        self._calls += 1
        self._free_for(self._theaps.get(self.request.thread), address)

    def reallocate(self, address: int, size: int) -> int:
        """Stay if the block is large enough and at most twice as large; else move."""
        self._calls += 1
        if self.reallocate_in_place(address, size):
            return address
        kept = min(self.block_size(address), size)
        theap = self._theap_of_caller()
        new = self._allocate(theap, size)
        self.touch(new, kept)
        self._free_for(theap, address)
        return new

    def reallocate_in_place(self, address: int, size: int) -> bool:
        """Say whether the block is large enough, and at most twice as large."""
        usable = self.block_size(address)
        return self.request.size > 0 and usable // 2 <= size <= usable

    @property
    def _now(self) -> int:
        """The clock, in milliseconds."""
        tick = self._options.tick
        return (self._calls * tick if tick else self.request.time) // 1_000_000

    def _start_program(self) -> None:
        """Allocate what is there before the program's own first call."""
        self._is_started = True
        for _ in range(self.other_threads if self._mechanism else 0):
            self.blocks.mark(self._allocate(self._theaps[0], _THREAD_BLOCK), State.TABLE)

    def _page_of(self, address: int) -> PageT:
        page: PageT = self._pages.peekitem(self._pages.bisect_right(address) - 1)[1]
        return page
