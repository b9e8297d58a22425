"""The heap that a thread has in mimalloc 3: its queues of pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simalloc.heap.reference.families.mimalloc3.page import Page

SINGLETONS = 1 << 62
"""Stands for the size of blocks in the queue of all singletons."""

_HIGHEST_SCORE = 256


@dataclass(eq=False)
class Queue:
    """The pages that a thread has for blocks of one size."""

    pages: list[Page] = field(default_factory=list)
    score: int = 0
    """Rises when others have freed blocks in pages that were found full, and else falls."""

    def count(self, *, was_freed_in: bool) -> None:
        """Note whether a page without a free block had got some from others."""
        if was_freed_in:
            self.score = min(_HIGHEST_SCORE, self.score + 8)
        else:
            self.score = max(0, self.score - 1)

    def move(self, page: Page, *, to_front: bool) -> None:
        """Move a page to one of the ends."""
        self.pages.remove(page)
        self.pages.insert(0 if to_front else len(self.pages), page)


@dataclass(eq=False)
class Theap:
    """What a thread has for itself."""

    sequence: int
    """The thread's number, by first mallocs; the main thread's is 0."""
    full_retain: int
    """How many full pages a search leaves in their queue."""
    queues: dict[int, Queue] = field(default_factory=dict)
    """By size of block."""
    calls: int = 0
    """The generic mallocs since the last collection."""
    collected: int = 0
    """The generic mallocs before that, since the last full collection."""
    retired: tuple[int, int] | None = None
    """The smallest and the largest size of blocks whose pages may be retired."""
    records: tuple[int, ...] = ()
    """The blocks that hold the thread's own records."""
    is_new: bool = True
    """Whether the thread has not called malloc yet."""

    def queue(self, block_size: int) -> Queue:
        """Return the pages for blocks of a size."""
        return self.queues.setdefault(block_size, Queue())

    def note_retired(self, block_size: int) -> None:
        """Let the range of sizes that may have retired pages take in one more."""
        low, high = self.retired or (block_size, block_size)
        self.retired = min(low, block_size), max(high, block_size)

    def queue_of(self, page: Page) -> Queue:
        """Return the queue in which a page of the thread's is, or would be."""
        return self.queue(SINGLETONS if page.is_singleton else page.block_size)

    def all_pages(self) -> list[Page]:
        """Return all pages of the thread's, those of smaller blocks first."""
        return [page for size in sorted(self.queues) for page in self.queues[size].pages]
