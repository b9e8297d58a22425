"""Variations of a trace: the same program with another order of tasks or other data.

A recording is one of many possible orders. Variation `number` of a trace is reproducible: it
depends only on the trace, the number and the seed. Each variation makes one or two of these
changes:

- **order**: the events of the threads are interleaved differently; no event moves by more than the
  window
- **sizes**: half of the requests are up to 8 bytes larger or smaller
- **phase**: the program begins at another event, with the live objects there allocated first, and
  continues from its beginning after its end
- **repeat**: the program runs a second time, after all remaining objects are freed
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace import Op, Trace
from simalloc.trace.events import allocates
from simalloc.trace.intake import Collector
from simalloc.trace.shapes import ReadEvents

WINDOW: Final = 64
"""Default maximum number of events by which an event may move."""
MAX_BYTES: Final = 8
"""Maximum change of a size in bytes."""

_ORDER, _SIZES, _PHASE, _REPEAT = "order", "sizes", "phase", "repeat"


@dataclass(frozen=True)
class Variation:
    """One variation of a trace, and its changes."""

    trace: Trace
    number: int
    changes: tuple[str, ...]


def variation(trace: Trace, number: int, seed: int = 1, window: int = WINDOW) -> Variation:
    """Return variation `number` (from 1) of a trace."""
    changes = _changes(trace, number)
    random = np.random.default_rng([seed, number])
    events = _Events.of(trace)
    for change in changes:
        events = _CHANGES[change](events, random, window)
    provenance = {
        **trace.provenance,
        "variation": {"number": number, "seed": seed, "window": window, "changes": list(changes)},
    }
    name = f"{trace.name} (variation {number}: {' and '.join(changes)})"
    return Variation(events.trace(name, provenance), number, changes)


def _changes(trace: Trace, number: int) -> tuple[str, ...]:
    """Return the changes of a variation: single changes first, then pairs."""
    single = [_SIZES, _PHASE, _REPEAT]
    if trace.thread is not None and trace.threads > 1:
        single = [_ORDER, *single]
    pairs = [(one, other) for i, one in enumerate(single) for other in single[i + 1 :]]
    kinds: list[tuple[str, ...]] = [*((one,) for one in single), *pairs]
    return kinds[(number - 1) % len(kinds)]


@dataclass(frozen=True, eq=False)
class _Events:
    """Events whose objects have unique numbers in any order."""

    op: NDArray[np.uint8]
    object: NDArray[np.int64]
    size: NDArray[np.int64]
    columns: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, trace: Trace) -> _Events:
        columns = {name: values for name, values in trace.columns.items() if name != "time"}
        return cls(trace.op, trace.object, trace.size, columns)

    def taken(self, which: NDArray[np.int64]) -> _Events:
        """Return some of the events in a given order."""
        columns = {name: values[which] for name, values in self.columns.items()}
        return _Events(self.op[which], self.object[which], self.size[which], columns)

    def then(self, other: _Events) -> _Events:
        """Return the events of both, one after the other."""
        return _Events(
            np.concatenate((self.op, other.op)),
            np.concatenate((self.object, other.object)),
            np.concatenate((self.size, other.size)),
            {
                name: np.concatenate((values, other.columns[name]))
                for name, values in self.columns.items()
            },
        )

    def frees(self, of: NDArray[np.int64]) -> _Events:
        """Return frees of objects, by the threads that allocated them."""
        births = np.flatnonzero((self.op == Op.MALLOC) | (self.op == Op.CALLOC))
        born = np.zeros(int(self.object.max(initial=-1)) + 1, np.int64)
        born[self.object[births]] = births
        events = self.taken(born[of])
        zeros = np.zeros(len(of), np.int64)
        return replace(events, op=np.full(len(of), Op.FREE, np.uint8), size=zeros)

    def trace(self, name: str, provenance: Mapping[str, Any]) -> Trace:
        """Return the events as a trace."""
        collector = Collector(tuple(self.columns))
        collector.append(ReadEvents(self.op, self.object, self.size, None, self.columns))
        return collector.trace(name, provenance)


def _live_at(events: _Events, until: int) -> NDArray[np.int64]:
    """Return the objects that are live after the first `until` events, in the order of births."""
    op, numbers = events.op[:until], events.object[:until]
    freed = numbers[op == Op.FREE]
    begun = numbers[(op == Op.MALLOC) | (op == Op.CALLOC)]
    live: NDArray[np.int64] = begun[~np.isin(begun, freed)]
    return live


def _other_sizes(events: _Events, random: np.random.Generator, window: int) -> _Events:
    del window
    change = random.integers(-MAX_BYTES, MAX_BYTES + 1, len(events.size))
    changed = (random.random(len(events.size)) < 0.5) & allocates(events.op) & (events.size > 0)
    size = np.where(changed, np.maximum(events.size + change, 1), events.size)
    return replace(events, size=size)


def _repeat(events: _Events, random: np.random.Generator, window: int) -> _Events:
    del window
    first = events.then(events.frees(random.permutation(_live_at(events, len(events.op)))))
    again = np.where(events.object < 0, -1, events.object + int(events.object.max(initial=0)) + 1)
    return first.then(replace(events, object=again))


def _other_phase(events: _Events, random: np.random.Generator, window: int) -> _Events:
    """Begin at another event: the objects live there, with their sizes at that time, come first."""
    del window
    start = int(random.integers(len(events.op))) if len(events.op) else 0
    live = _live_at(events, start)
    last = np.zeros(int(events.object.max(initial=-1)) + 1, np.int64)
    sized = np.flatnonzero(allocates(events.op[:start]))
    last[events.object[sized]] = sized
    before = events.taken(last[live])
    before = replace(before, op=np.full(len(live), Op.MALLOC, np.uint8))
    rest = events.taken(np.arange(start, len(events.op)))
    whole = before.then(rest)
    whole = whole.then(whole.frees(_live_at(whole, len(whole.op))))
    beginning = events.taken(np.arange(start))
    shift = int(events.object.max(initial=0)) + 1
    numbers = np.where(beginning.object < 0, -1, beginning.object + shift)
    return whole.then(replace(beginning, object=numbers))


def _other_order(events: _Events, random: np.random.Generator, window: int) -> _Events:
    """Delay each run of a thread's events by up to the window.

    The events of one thread keep their order. The events of one object also keep their order.
    """
    thread = events.columns["thread"]
    runs = np.cumsum(np.concatenate(([0], thread[1:] != thread[:-1]))).astype(np.int64)
    delay = random.integers(0, window + 1, int(runs[-1]) + 1 if len(runs) else 0)
    place = np.arange(len(thread)) + delay[runs] if len(runs) else np.arange(0)
    after_thread: dict[int, int] = {}
    after_object: dict[int, int] = {}
    kept = np.empty(len(place), np.int64)
    for event, (wanted, task, number) in enumerate(
        zip(place.tolist(), thread.tolist(), events.object.tolist(), strict=True)
    ):
        least = max(wanted, after_thread.get(task, 0), after_object.get(number, 0))
        kept[event] = after_thread[task] = least
        if number >= 0:
            after_object[number] = least
    return events.taken(np.argsort(kept, kind="stable"))


_CHANGES: Final[Mapping[str, Callable[[_Events, np.random.Generator, int], _Events]]] = {
    _ORDER: _other_order,
    _SIZES: _other_sizes,
    _PHASE: _other_phase,
    _REPEAT: _repeat,
}
