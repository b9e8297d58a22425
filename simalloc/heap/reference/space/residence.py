"""The resident pages of the heap."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final

HUGE: Final = 512
"""Number of pages in a huge page; 2 MiB if a page has 4 KiB."""


class Residence:
    """Pages that contain a written byte and have not been returned to the system since.

    Pages of `page` scaled bytes are counted from address 0. `runs` alternates the first page and
    the end of each run of resident pages, in ascending order.

    A huge page becomes resident as a whole. If a part of it is returned, the huge page is split:
    its pages are treated as ordinary pages until all of it is returned.
    """

    def __init__(self, page: int) -> None:
        self.page = page
        self.runs: list[int] = []
        self._huge: set[int] = set()
        self._split: set[int] = set()

    @property
    def bytes(self) -> int:
        """Scaled bytes of all resident pages."""
        return self.page * (sum(self.runs[1::2]) - sum(self.runs[::2]))

    def bytes_in(self, address: int, size: int) -> int:
        """Return the scaled bytes of the resident pages that begin in these bytes."""
        first, end = -(-address // self.page), -(-(address + size) // self.page)
        runs = zip(self.runs[::2], self.runs[1::2], strict=True)
        return self.page * sum(max(0, min(end, b) - max(first, a)) for a, b in runs)

    def touch(self, address: int, size: int) -> None:
        """Make the pages that contain these bytes resident."""
        if size > 0:
            self._set(address // self.page, -(-(address + size) // self.page), resident=True)

    def discard(self, address: int, size: int) -> None:
        """Return the pages that are wholly within these bytes to the system."""
        first, end = -(-address // self.page), (address + size) // self.page
        if first < end:
            self._set(first, end, resident=False)

    def use_huge_pages(self, address: int, size: int) -> None:
        """Allow huge pages for each whole huge page within these bytes."""
        whole = HUGE * self.page
        self._huge.update(range(-(-address // whole), (address + size) // whole))

    def within(self, address: int, size: int) -> list[tuple[int, int]]:
        """Return start and end of each run of resident pages within these bytes."""
        first, end = address // self.page, -(-(address + size) // self.page)
        runs = zip(self.runs[::2], self.runs[1::2], strict=True)
        cut = [(max(low, first), min(high, end)) for low, high in runs]
        return [(low * self.page, high * self.page) for low, high in cut if low < high]

    def _set(self, first: int, end: int, *, resident: bool) -> None:
        """Set whether the pages from `first` to before `end` are resident."""
        for huge in range(first // HUGE, (end - 1) // HUGE + 1) if self._huge else ():
            if huge not in self._huge:
                continue
            if resident and huge not in self._split and not self._is_touched(huge):
                self._set_pages(huge * HUGE, (huge + 1) * HUGE, resident=True)
            elif not resident and first <= huge * HUGE and (huge + 1) * HUGE <= end:
                self._split.discard(huge)
            elif not resident and self._is_touched(huge):
                self._split.add(huge)
        self._set_pages(first, end, resident=resident)

    def _is_touched(self, huge: int) -> bool:
        """Return whether any page of a huge page is resident."""
        place = bisect_right(self.runs, huge * HUGE)
        return place % 2 == 1 or (place < len(self.runs) and self.runs[place] < (huge + 1) * HUGE)

    def _set_pages(self, first: int, end: int, *, resident: bool) -> None:
        low, high = bisect_left(self.runs, first), bisect_right(self.runs, end)
        edges = [first] if low % 2 != resident else []
        edges += [end] if high % 2 != resident else []
        self.runs[low:high] = edges
