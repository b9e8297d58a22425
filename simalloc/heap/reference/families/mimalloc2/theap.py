"""The heap that a thread has in mimalloc 2: queues of its pages, and of its free spans."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simalloc.heap.reference.families.mimalloc2.page import Page
    from simalloc.heap.reference.families.mimalloc2.segment import Segment

_SPAN_ENDS: Final = (
    *range(1, 8),
    *(steps << doubling for doubling in range(1, 7) for steps in (5, 6, 7, 8)),
)
"""The most slices of the spans in each queue: up to 7 one each, then four to each doubling."""


@dataclass(eq=False)
class Theap:
    """What a thread has for itself."""

    record: int | None
    """The mapping that holds it; the main thread's is part of the program."""
    queues: dict[int, list[Page]] = field(default_factory=dict)
    """The pages by size of block, but for the full ones and those of one block."""
    full: list[Page] = field(default_factory=list)
    singles: list[Page] = field(default_factory=list)
    """The pages of one block."""
    spans: list[list[tuple[Segment, int]]] = field(default_factory=lambda: [[] for _ in _SPAN_ENDS])
    """The free spans by size, the newest first: their segments and first slices."""
    segments: int = 0
    retired: tuple[int, int] | None = None
    """The smallest and the largest size of blocks whose pages may be retired."""
    delayed: list[int] = field(default_factory=list)
    """Blocks that others freed, for the thread to free."""

    def queue_of(self, page: Page) -> list[Page]:
        """Return the queue in which a page of the thread's is, or would be."""
        if page.is_full:
            return self.full
        return self.singles if page.is_single else self.queue(page.block_size)

    def queue(self, block_size: int) -> list[Page]:
        """Return the pages for blocks of a size."""
        return self.queues.setdefault(block_size, [])

    def all_pages(self) -> list[Page]:
        """Return all pages, those of smaller blocks first, and last the full ones."""
        pages = [page for size in sorted(self.queues) for page in self.queues[size]]
        return [*pages, *self.singles, *self.full]

    def note_retired(self, block_size: int) -> None:
        """Let the range of sizes that may have retired pages take in one more."""
        low, high = self.retired or (block_size, block_size)
        self.retired = min(low, block_size), max(high, block_size)

    def add_span(self, segment: Segment, index: int, count: int) -> None:
        """Enter a free span as the newest of its queue."""
        self.spans[bisect_left(_SPAN_ENDS, count)].insert(0, (segment, index))

    def remove_span(self, segment: Segment, index: int, count: int) -> None:
        """Take a free span out of its queue."""
        self.spans[bisect_left(_SPAN_ENDS, count)].remove((segment, index))

    def spans_from(self, count: int) -> Iterator[tuple[Segment, int]]:
        """Yield the spans that may have `count` slices, in the order of a search."""
        for queue in self.spans[bisect_left(_SPAN_ENDS, count) :]:
            yield from queue
