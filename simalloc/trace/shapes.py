"""The three forms of a run of events: in a log, in a trace, and in a replay."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.trace._c import SPAN_BYTES, SPAN_EVENTS, live_spans
from simalloc.trace.events import OPTIONAL_COLUMNS
from simalloc.trace.memory import borrow

_REPLAYED: Final = tuple(np.dtype(name) for name in ("int64", "int64", "uint32", "uint8"))
"""Data types of size, live, slot and op. Each is aligned after the previous ones."""
BYTES_AN_EVENT: Final = sum(dtype.itemsize for dtype in _REPLAYED)
"""Bytes per event of these columns of `ReplayedEvents`."""


@dataclass(frozen=True, eq=False)
class ReadEvents:
    """A run of events in a log, before they are checked.

    `op` (uint8), `key` and `size` (int64) have one entry per event. `key` is a number or an address
    that identifies an object among the live objects. `new_key`, if given, is the key of a realloc's
    object after the event. `columns` contains optional columns in their dtypes.
    """

    op: NDArray[np.uint8]
    key: NDArray[np.int64]
    size: NDArray[np.int64]
    new_key: NDArray[np.int64] | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.op)

    def part(self, start: int, stop: int | None = None) -> ReadEvents:
        """Return the events from `start` to before `stop`."""
        return self.taken(slice(start, stop))

    def taken(self, which: slice | NDArray[Any]) -> ReadEvents:
        """Return the events that a slice, an index array or a boolean array selects."""
        return ReadEvents(
            self.op[which],
            self.key[which],
            self.size[which],
            None if self.new_key is None else self.new_key[which],
            {name: values[which] for name, values in self.columns.items()},
        )


@dataclass(frozen=True, eq=False)
class CheckedEvents:
    """A run of events as in `Trace`. `columns` contains its optional columns."""

    op: NDArray[np.uint8]
    object: NDArray[np.int64]
    size: NDArray[np.int64]
    slot: NDArray[np.uint32]
    columns: Mapping[str, NDArray[Any]]

    @classmethod
    def empty(cls, events: int, columns: Collection[str] = ()) -> CheckedEvents:
        """Return events whose columns are not yet filled."""
        return cls(
            np.empty(events, np.uint8),
            np.empty(events, np.int64),
            np.empty(events, np.int64),
            np.empty(events, np.uint32),
            {name: np.empty(events, OPTIONAL_COLUMNS[name]) for name in columns},
        )

    def part(self, start: int, stop: int | None = None) -> CheckedEvents:
        """Return the events from `start` to before `stop`, which share their memory."""
        return self.taken(slice(start, stop))

    def taken(self, which: slice | NDArray[Any]) -> CheckedEvents:
        """Return the events that a slice, an index array or a boolean array selects."""
        columns = {name: values[which] for name, values in self.columns.items()}
        return CheckedEvents(
            self.op[which], self.object[which], self.size[which], self.slot[which], columns
        )

    def with_columns(self, names: Collection[str]) -> CheckedEvents:
        """Return the events with these optional columns. Missing columns are 0."""
        columns = {
            name: self.columns[name]
            if name in self.columns
            else np.zeros(len(self), OPTIONAL_COLUMNS[name])
            for name in names
        }
        return replace(self, columns=columns)

    def copy(self) -> CheckedEvents:
        """Return a copy of the events in separate memory."""
        columns = {name: values.copy() for name, values in self.columns.items()}
        return CheckedEvents(
            self.op.copy(), self.object.copy(), self.size.copy(), self.slot.copy(), columns
        )

    @classmethod
    def join(cls, chunks: Sequence[CheckedEvents]) -> CheckedEvents:
        """Return the concatenated events of one or more chunks."""
        return cls(
            np.concatenate([chunk.op for chunk in chunks]),
            np.concatenate([chunk.object for chunk in chunks]),
            np.concatenate([chunk.size for chunk in chunks]),
            np.concatenate([chunk.slot for chunk in chunks]),
            {
                name: np.concatenate([chunk.columns[name] for chunk in chunks])
                for name in chunks[0].columns
            },
        )

    def __len__(self) -> int:
        return len(self.op)


class ReplayedEvents(NamedTuple):
    """A run of events with the columns that a replay needs.

    `op`, `size` and `slot` are the same as in `Trace`. `live` and `spans` do not depend on the
    policy and are computed once for all policies. `live` (int64) contains the live bytes after each
    event. `spans` contains the known totals of each 256 events from the first on. `columns`
    contains the requested optional columns.
    """

    op: NDArray[np.uint8]
    size: NDArray[np.int64]
    slot: NDArray[np.uint32]
    live: NDArray[np.int64]
    spans: NDArray[np.void]
    columns: Mapping[str, NDArray[Any]] = MappingProxyType({})

    @classmethod
    def empty(cls, events: int) -> ReplayedEvents:
        """Return events whose columns are not yet filled, without spans."""
        memory = borrow(events * BYTES_AN_EVENT)
        ends = np.cumsum([dtype.itemsize * events for dtype in _REPLAYED])
        size, live, slot, op = (
            column.view(dtype)
            for column, dtype in zip(np.split(memory, ends[:-1]), _REPLAYED, strict=True)
        )
        return cls(op, size, slot, live, empty_spans(0))

    def summed_up(self) -> ReplayedEvents:
        """Return the same events with complete spans."""
        spans = empty_spans(len(self.op) // SPAN_EVENTS)
        live_spans(self.live, self.size, spans)
        return self._replace(spans=spans)

    def part(self, start: int, stop: int) -> ReplayedEvents:
        """Return the events from `start` to before `stop`, which share their memory."""
        part = slice(start, stop)
        first_span = start // SPAN_EVENTS if start % SPAN_EVENTS == 0 else len(self.spans)
        return ReplayedEvents(
            self.op[part],
            self.size[part],
            self.slot[part],
            self.live[part],
            self.spans[first_span : stop // SPAN_EVENTS],
            {name: values[part] for name, values in self.columns.items()},
        )


def empty_spans(count: int) -> NDArray[np.void]:
    """Return `count` unfilled spans."""
    return np.empty(count, f"V{SPAN_BYTES}")
