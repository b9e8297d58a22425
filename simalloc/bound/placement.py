"""The result of offline placement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from simalloc.bound.timetable import NONE, Timetable
from simalloc.bound.verify import Swept
from simalloc.shown import ShownAsTable

Status = Literal["optimal", "bounded", "unproven"]

NEAR: Final = 0.01
"""A placement is `bounded` if its height is at most this share above the lower bound."""


@dataclass(frozen=True, eq=False)
class Placement(ShownAsTable):
    """Verified addresses for all lives of a trace.

    Attributes
    ----------
    table : Timetable
        Lives of the trace.
    address : array of int64
        Address in bytes of each life.
    swept : Swept
        Heap after each event, the certificate of the placement.
    how : str
        Name of the try that found it.
    tries : int
        Number of tries.
    stopped : bool
        True if Ctrl-C ended the search early.
    lower : int
        Highest proven lower bound in bytes; 0 if none above peak live was proven.
    seconds : float
        Time of the search.
    """

    table: Timetable = field(repr=False)
    address: NDArray[np.int64] = field(repr=False)
    swept: Swept = field(repr=False)
    how: str
    tries: int = 0
    stopped: bool = False
    lower: int = 0
    seconds: float = field(default=0.0, repr=False, compare=False)

    @property
    def height(self) -> int:
        """Peak heap size in bytes."""
        return int(self.swept.heap.max(initial=0))

    @property
    def bound(self) -> int:
        """Peak of live bytes, with each empty object counted as 1 byte. No placement is lower."""
        return self.table.peak

    @property
    def lower_bound(self) -> int:
        """Highest proven lower bound in bytes: no placement needs less."""
        return max(self.bound, self.lower)

    @property
    def is_bound(self) -> bool:
        """True if the height equals the peak of live bytes."""
        return self.height == self.bound

    @property
    def status(self) -> Status:
        """`optimal`: proven to be the minimum; `bounded`: at most 1 % above the lower bound."""
        if self.height == self.lower_bound:
            return "optimal"
        return "bounded" if self.height <= (1 + NEAR) * self.lower_bound else "unproven"

    def fits(self, capacity: int) -> bool | None:
        """Return whether the trace fits into `capacity` bytes, or None if unknown."""
        if self.height <= capacity:
            return True
        return False if self.lower_bound > capacity else None

    def by_event(self) -> NDArray[np.int64]:
        """Return the address (int64, bytes) of the object that each event allocates, or -1."""
        begins = self.table.begins
        found = np.full(self.table.events, -1, np.int64)
        born = begins != NONE
        found[born] = self.address[begins[born]]
        return found
