"""The heap that a thread has in mimalloc: its queues of pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from simalloc.heap.reference.families.mimalloc.page import Page

PageT = TypeVar("PageT", bound=Page)

_SINGLES: Final = 1 << 62
_FULL: Final = _SINGLES + 1
"""Stand for the size of blocks in the queues of pages of one block, and of full pages."""

_HIGHEST_SCORE: Final = 256


@dataclass(eq=False)
class Queue(Generic[PageT]):
    """The pages that a thread has for blocks of one size."""

    pages: list[PageT] = field(default_factory=list)
    score: int = 0
    """In mimalloc 3 it rises when others have freed blocks in full pages, and else falls."""

    def count(self, *, was_freed_in: bool) -> None:
        """Note whether a page without a free block had got some from others."""
        if was_freed_in:
            self.score = min(_HIGHEST_SCORE, self.score + 8)
        else:
            self.score = max(0, self.score - 1)

    def move(self, page: PageT, *, to_front: bool) -> None:
        """Move a page to one of the ends."""
        self.pages.remove(page)
        self.pages.insert(0 if to_front else len(self.pages), page)


@dataclass(eq=False)
class Theap(Generic[PageT]):
    """State of a thread."""

    queues: dict[int, Queue[PageT]] = field(default_factory=dict)
    """By size of block."""
    retired: tuple[int, int] | None = None
    """The smallest and the largest size of blocks whose pages may be retired."""

    def queue(self, block_size: int) -> Queue[PageT]:
        """Return the pages for blocks of a size."""
        return self.queues.setdefault(block_size, Queue())

    def queue_of(self, page: PageT) -> Queue[PageT]:
        """Return the queue in which a page of the thread's is, or would be."""
        if page.is_full:
            return self.queue(_FULL)
        return self.queue(_SINGLES if page.is_single else page.block_size)

    def next_block(self, block_size: int) -> int | None:
        """Return the block of a size that comes next in its first page, if one does."""
        pages = self.queue(block_size).pages
        return pages[0].free[-1] if pages and pages[0].free else None

    def note_retired(self, block_size: int) -> None:
        """Let the range of sizes that may have retired pages take in one more."""
        low, high = self.retired or (block_size, block_size)
        self.retired = min(low, block_size), max(high, block_size)

    def all_pages(self) -> list[PageT]:
        """Return all pages, by the size of their blocks, and the full ones last."""
        return [page for size in sorted(self.queues) for page in self.queues[size].pages]
