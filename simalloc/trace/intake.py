"""The entry of events into a trace, chunk by chunk and in bounded memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simalloc.errors import TraceError
from simalloc.trace._c import LiveTable
from simalloc.trace.chunk import CHUNK_EVENTS
from simalloc.trace.events import OPTIONAL_COLUMNS, Reason, allocates, complaint
from simalloc.trace.shapes import CheckedEvents, ReadEvents
from simalloc.trace.trace import Trace


@dataclass(frozen=True)
class Skipped:
    """Number of events of a run with the same kind of fault, and the index of the first."""

    count: int
    first: int


class Intake(ABC):
    """Checks events as they arrive, numbers objects and slots, and stores whole chunks.

    `columns` names the optional columns that begin with the first event. Another column begins with
    the first run of events that contains it and is 0 before that run. A run must contain all
    columns that have begun.
    """

    def __init__(self, columns: Collection[str] = ()) -> None:
        self.table = LiveTable()
        self.columns = tuple(name for name in OPTIONAL_COLUMNS if name in columns)
        self._buffer = CheckedEvents.empty(CHUNK_EVENTS, self.columns)
        self._filled = 0
        self._stored = 0

    @property
    def events(self) -> int:
        """The number of events so far."""
        return self._stored + self._filled

    @abstractmethod
    def _store(self, chunk: CheckedEvents) -> None:
        """Store a chunk. Its memory is reused afterwards."""

    @abstractmethod
    def _begin(self, column: str) -> None:
        """Add a column of zeros to all stored chunks."""

    def _begin_columns(self, events: ReadEvents) -> None:
        """Begin the optional columns that appear first in this run of events."""
        new = [name for name in events.columns if name not in self.columns]
        for name in new:
            self._begin(name)
        if new:
            self.columns = tuple(
                name for name in OPTIONAL_COLUMNS if name in self.columns or name in new
            )
            self._buffer = self._buffer.with_columns(self.columns)

    def append(self, events: ReadEvents) -> None:
        """Add a run of events.

        Raises `TraceError` at the first invalid event. The events before it have been added.
        """
        done, reason = self.append_valid(events)
        if reason is not Reason.NONE:
            text = complaint(
                reason, int(events.op[done]), int(events.key[done]), int(events.size[done])
            )
            raise TraceError(text, event=self.events)

    def append_valid(self, events: ReadEvents) -> tuple[int, Reason]:
        """Add the events up to the first invalid one.

        Returns the number of added events and the reason for the end, which is `Reason.NONE` if all
        events are valid.
        """
        self._begin_columns(events)
        done = 0
        while done < len(events):
            part = events.part(done, done + CHUNK_EVENTS - self._filled)
            entered, reason = self._enter(part)
            done += entered
            if reason is not Reason.NONE:
                return done, reason
        return done, Reason.NONE

    def append_lenient(self, events: ReadEvents) -> tuple[int, Reason, dict[Reason, Skipped]]:
        """Add the valid events of a run (rules: c/live_table.h).

        Returns the number of added or skipped events, the reason for stopping (`Reason.NONE` at the
        end of the run), and the faults.
        """
        self._begin_columns(events)
        done, reason = 0, Reason.NONE
        skipped: dict[Reason, Skipped] = {}
        while done < len(events) and reason is Reason.NONE:
            taken, reason, wrong = self._enter_lenient(events.part(done, done + CHUNK_EVENTS))
            for why, (count, first) in wrong.items():
                before = skipped.get(Reason(why), Skipped(0, done + first))
                skipped[Reason(why)] = Skipped(before.count + count, before.first)
            done += taken
        return done, reason, skipped

    def flush(self) -> None:
        """Store the events that were added since the last whole chunk."""
        if self._filled:
            self._store(self._buffer.part(0, self._filled))
            self._stored += self._filled
            self._filled = 0

    def _enter(self, part: ReadEvents) -> tuple[int, Reason]:
        room = self._buffer.part(self._filled, self._filled + len(part.op))
        room.op[:] = part.op
        np.multiply(part.size, allocates(part.op), out=room.size)  # some logs repeat the size here
        entered, reason = self.table.enter(
            room.op, part.key, room.size, room.object, room.slot, part.new_key
        )
        for name, values in room.columns.items():
            values[:] = part.columns[name]
        self._advance(entered)
        return entered, Reason(reason)

    def _enter_lenient(self, part: ReadEvents) -> tuple[int, Reason, dict[int, tuple[int, int]]]:
        room = self._buffer.part(self._filled, self._filled + 2 * len(part))
        source = np.empty(len(room), np.int64)
        taken, kept, reason, wrong = self.table.enter_lenient(
            part.op,
            part.key,
            part.size,
            part.new_key,
            room.op,
            room.object,
            room.size,
            room.slot,
            source,
        )
        for name, values in room.columns.items():
            values[:kept] = part.columns[name][source[:kept]]
        self._advance(kept)
        return taken, Reason(reason), wrong

    def _advance(self, events: int) -> None:
        self._filled += events
        if self._filled == CHUNK_EVENTS:
            self.flush()


class Collector(Intake):
    """Collects events in memory as a `Trace`."""

    def __init__(self, columns: Collection[str] = ()) -> None:
        super().__init__(columns)
        self._chunks: list[CheckedEvents] = []

    def _store(self, chunk: CheckedEvents) -> None:
        self._chunks.append(chunk.copy())

    def _begin(self, column: str) -> None:
        """Do nothing: `trace` fills columns that a chunk lacks with zeros."""

    def trace(self, name: str, provenance: Mapping[str, Any]) -> Trace:
        """Return the collected events as a trace."""
        self.flush()
        chunks = self._chunks or [CheckedEvents.empty(0, self.columns)]
        return Trace.of_checked(
            CheckedEvents.join([chunk.with_columns(self.columns) for chunk in chunks]),
            slots=self.table.slots,
            objects=self.table.objects,
            name=name,
            provenance=provenance,
        )
