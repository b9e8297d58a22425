"""Which pages of the heap are resident."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class Residence:
    """Pages in which a byte was written, until they are given back.

    Pages of `page` scaled bytes are counted from address 0. `runs` has the first and the end of
    each run of resident pages in turn, in rising order: an even number of them.
    """

    def __init__(self, page: int) -> None:
        self.page = page
        self.runs: list[int] = []

    @property
    def bytes(self) -> int:
        """The scaled bytes of all resident pages."""
        return self.page * (sum(self.runs[1::2]) - sum(self.runs[::2]))

    def touch(self, address: int, size: int) -> None:
        """Make the pages of these bytes resident."""
        if size > 0:
            self._set(address // self.page, -(-(address + size) // self.page), resident=True)

    def discard(self, address: int, size: int) -> None:
        """Give the pages back that lie wholly within these bytes."""
        first, end = -(-address // self.page), (address + size) // self.page
        if first < end:
            self._set(first, end, resident=False)

    def _set(self, first: int, end: int, *, resident: bool) -> None:
        """Make the pages from `first` to before `end` resident, or no longer so."""
        low, high = bisect_left(self.runs, first), bisect_right(self.runs, end)
        edges = [first] if low % 2 != resident else []
        edges += [end] if high % 2 != resident else []
        self.runs[low:high] = edges
