"""What can be replayed: a trace in memory, or one in a file that is read as it is replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from simalloc.trace.memory import borrow

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from simalloc.trace.trace import Trace

_BYTES_AN_EVENT: Final = 13


class Stretch(NamedTuple):
    """A run of events, in what a replay needs of them; an entry an event, as in `Trace`."""

    op: NDArray[np.uint8]
    size: NDArray[np.int64]
    slot: NDArray[np.uint32]

    @classmethod
    def empty(cls, events: int) -> Stretch:
        """Return a stretch whose columns are still to be filled."""
        memory = borrow(events * _BYTES_AN_EVENT)
        sizes, slots, ops = np.split(memory, (8 * events, 12 * events))
        return cls(ops, sizes.view(np.int64), slots.view(np.uint32))

    def part(self, start: int, stop: int) -> Stretch:
        """Return the events from `start` to before `stop`, sharing this stretch's memory."""
        part = slice(start, stop)
        return Stretch(self.op[part], self.size[part], self.slot[part])


class EventSource(Protocol):
    """A `Trace`, or a `TraceFile`; its length is the number of events."""

    @property
    def name(self) -> str:
        """What the trace is called."""

    @property
    def objects(self) -> int:
        """How many objects are allocated in all."""

    @property
    def slots(self) -> int:
        """How many are live at once at most."""

    def __len__(self) -> int: ...

    def stretches(self) -> Generator[Stretch]:
        """Yield all events from the first on, at most 2**20 at a time; may be called again."""

    def in_memory(self) -> Trace:
        """Return the whole trace."""

    def prefix(self, events: int) -> Trace:
        """Return the first `events` events, or all if there are no more."""
