"""A placement of a trace by one who knew all of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simalloc.bound.timetable import NONE, Timetable
from simalloc.bound.verify import Swept
from simalloc.shown import ShownAsTable


@dataclass(frozen=True, eq=False)
class Placement(ShownAsTable):
    """Where every life of a trace is, verified; `swept` is the certificate.

    `address` (int64, bytes) has an entry a life. `how` says which of the `tries` found it; a
    search that was `stopped` by Ctrl-C had more to try.
    """

    table: Timetable = field(repr=False)
    address: NDArray[np.int64] = field(repr=False)
    swept: Swept = field(repr=False)
    how: str
    tries: int = 0
    stopped: bool = False

    @property
    def height(self) -> int:
        """The bytes of the heap at its peak."""
        return int(self.swept.heap.max(initial=0))

    @property
    def bound(self) -> int:
        """The peak of live bytes, an object of none counted as 1: no placement is lower."""
        return self.table.peak

    @property
    def is_bound(self) -> bool:
        """Whether this is the bound itself, and so the least heap that there can be."""
        return self.height == self.bound

    def by_event(self) -> NDArray[np.int64]:
        """Return the address (int64, bytes) of the object that each event allocates, or -1."""
        begins = self.table.begins
        found = np.full(self.table.events, -1, np.int64)
        born = begins != NONE
        found[born] = self.address[begins[born]]
        return found
