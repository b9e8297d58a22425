"""The begins and ends of all lives of a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.memory import require_memory
from simalloc.trace import Trace
from simalloc.trace.lives import lives_of

Ints = NDArray[np.int64]
Numbers = NDArray[np.uint32]
Columns = tuple[Numbers, Numbers, Ints, Numbers, Ints, Ints, int]

NONE: Final = 2**32 - 1
"""No life, as in c/lives.h."""
OBJECT_BYTES: Final = 250
"""Upper bound of the resident bytes that placement needs for each object of a trace."""


@dataclass(frozen=True, eq=False)
class Timetable:
    """The lives of a trace. A realloc ends one life and begins another; the two never overlap.

    `begins` and `ends` (uint32) have an entry for each event: the life that begins or ends there,
    or `NONE`. The other columns have an entry for each life, in the order of births: `size` (int64,
    bytes, at least 1), `alignment` (int64, bytes, at least 1), `slot` (uint32), and the events
    `born` and `died` (int64). The size of an empty object is 1, because every object needs an
    address. `died` is `events` if the object is never freed. `live` (int64) contains the live bytes
    after each event. Lives with gaps have `pieces`.
    """

    events: int
    slots: int
    begins: NDArray[np.uint32]
    ends: NDArray[np.uint32]
    size: NDArray[np.int64]
    alignment: NDArray[np.int64]
    slot: NDArray[np.uint32]
    born: NDArray[np.int64]
    died: NDArray[np.int64]
    live: NDArray[np.int64]
    pieces: Pieces | None = None

    @classmethod
    def of(
        cls,
        trace: Trace,
        taken: Callable[[NDArray[np.int64]], NDArray[np.int64]] | None = None,
        *,
        aligned: bool = False,
    ) -> Timetable:
        """Return the timetable of a trace.

        `taken` maps requested sizes of at least 1 to occupied bytes. If `aligned` is true,
        requested alignments are respected; otherwise every address is allowed. Raises
        `SimallocError` if the objects need more memory than is permitted.
        """
        require_memory(trace.objects * OBJECT_BYTES, f"{trace.name}: placing its objects")
        lives = lives_of(trace)
        events = len(trace)
        numbers = np.arange(len(lives), dtype=np.uint32)
        size = np.maximum(lives.size, 1)
        if taken is not None:
            size = taken(size)
        freed = lives.freed
        begins = np.full(events, NONE, np.uint32)
        begins[lives.born] = numbers
        ends = np.full(events, NONE, np.uint32)
        ends[lives.died[freed]] = numbers[freed]
        change = np.zeros(events, np.int64)
        change[lives.born] = size
        change[lives.died[freed]] -= size[freed]
        return cls(
            events=events,
            slots=trace.slots,
            begins=begins,
            ends=ends,
            size=size,
            alignment=_alignment(trace, lives.born, aligned=aligned),
            slot=np.ascontiguousarray(trace.slot[lives.born]),
            born=lives.born,
            died=lives.died,
            live=np.cumsum(change, out=change),
        )

    @property
    def columns(self) -> Columns:
        """The columns for the C core, in its order."""
        return self.begins, self.ends, self.size, self.slot, self.born, self.died, self.slots

    def __len__(self) -> int:
        return len(self.size)

    def with_sizes(self, size: Ints) -> Timetable:
        """Return the same lives with other sizes (int64, bytes), without alignments and gaps."""
        live = np.zeros(self.events, np.int64)
        born, died = self.begins != NONE, self.ends != NONE
        live[born] = size[self.begins[born]]
        live[died] -= size[self.ends[died]]
        alignment = np.ones_like(size)
        return replace(self.whole, size=size, alignment=alignment, live=np.cumsum(live, out=live))

    @property
    def whole(self) -> Timetable:
        """The same lives without gaps.

        Every placement of them is also a placement of these lives.
        """
        return replace(self, pieces=None)

    @property
    def peak(self) -> int:
        """Maximum number of bytes in use at once: no placement is lower."""
        if self.pieces is not None:
            return self.pieces.table.peak
        return int(self.live.max(initial=0))

    def born_until(self, event: int) -> int:
        """Return the number of lives born at or before an event."""
        return int(np.searchsorted(self.born, event, side="right"))

    def live_after(self, event: int) -> NDArray[np.int64]:
        """Return the lives that are live after an event, in the order of their births."""
        return np.flatnonzero(self.died[: self.born_until(event)] > event)


@dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces of time in which lives with gaps use some or all of their bytes.

    `table` has each piece as a separate life. `owner` (int64) is the life that a piece belongs to,
    and `low` (int64, bytes) is the distance of its first byte from that life's address.
    """

    table: Timetable
    owner: Ints
    low: Ints


def _alignment(trace: Trace, born: Ints, *, aligned: bool) -> Ints:
    """Return the alignment of each life (bytes); 1 if the request states none."""
    if not aligned or trace.alignment is None:
        return np.ones(len(born), np.int64)
    return np.maximum(trace.alignment[born], 1)
