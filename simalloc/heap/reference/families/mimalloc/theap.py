"""A thread's heap in mimalloc: its queues of pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from simalloc.heap.reference.families.mimalloc.page import Page

PageT = TypeVar("PageT", bound=Page)

_SINGLES: Final = 1 << 62
_FULL: Final = _SINGLES + 1
"""Keys of the queues of single-block pages and of full pages, in place of a block size."""

_HIGHEST_SCORE: Final = 256


@dataclass(eq=False)
class Queue(Generic[PageT]):
    """A thread's pages for blocks of one size."""

    pages: list[PageT] = field(default_factory=list)
    score: int = 0
    """mimalloc 3 raises the score if other threads freed blocks of a full page, and else lowers
    it.
    """

    def count(self, *, was_freed_in: bool) -> None:
        """Update the score after a page without a free block was collected."""
        if was_freed_in:
            self.score = min(_HIGHEST_SCORE, self.score + 8)
        else:
            self.score = max(0, self.score - 1)

    def move(self, page: PageT, *, to_front: bool) -> None:
        """Move a page to the front or the end."""
        self.pages.remove(page)
        self.pages.insert(0 if to_front else len(self.pages), page)


@dataclass(eq=False)
class Theap(Generic[PageT]):
    """State of a thread."""

    queues: dict[int, Queue[PageT]] = field(default_factory=dict)
    """Queues by block size."""
    retired: tuple[int, int] | None = None
    """Smallest and largest block size whose pages may be retired, or None."""

    def queue(self, block_size: int) -> Queue[PageT]:
        """Return the queue of pages for a block size."""
        return self.queues.setdefault(block_size, Queue())

    def queue_of(self, page: PageT) -> Queue[PageT]:
        """Return the queue to which a page of this thread belongs."""
        if page.is_full:
            return self.queue(_FULL)
        return self.queue(_SINGLES if page.is_single else page.block_size)

    def next_block(self, block_size: int) -> int | None:
        """Return the next block of a size in the first page, or None."""
        pages = self.queue(block_size).pages
        return pages[0].free[-1] if pages and pages[0].free else None

    def note_retired(self, block_size: int) -> None:
        """Extend the range of block sizes that may have retired pages by one size."""
        low, high = self.retired or (block_size, block_size)
        self.retired = min(low, block_size), max(high, block_size)

    def all_pages(self) -> list[PageT]:
        """Return all pages, by block size; the full pages are last."""
        return [page for size in sorted(self.queues) for page in self.queues[size].pages]
