"""Second replay of a run, for data outside its figures: addresses, and the heap itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.heap._core import Simulation
from simalloc.heap.needed import require_for
from simalloc.heap.run import Run
from simalloc.heap.running.replayed_columns import replayed_parts
from simalloc.heap.running.runners import runner_of
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import parts_of, replay
from simalloc.heap.running.whole_trace import OfflineHeap
from simalloc.heap.snapshot import FREE, HOLE, SIZE_POWERS, HeapSnapshot, Tiling
from simalloc.trace import EventSource, ReplayedEvents
from simalloc.trace.events import Op, allocates, begins

_PART_BLOCKS: Final = 1 << 18
_MAX_PARTS: Final = 64
"""The heap is read in parts of `_PART_BLOCKS` blocks, or in `_MAX_PARTS` parts if it has more
blocks."""


class _SlotContents:
    """The object in each slot, its requested size and its event, updated by runs of events."""

    def __init__(self, slots: int) -> None:
        self._object, self._size, self._since = (np.zeros(slots, np.int64) for _ in range(3))
        self._events = 0
        self._objects = 0

    def note(self, events: ReplayedEvents, address: NDArray[np.int64]) -> None:
        """Record the next events. A refused realloc leaves its object as it was."""
        here = np.flatnonzero(allocates(events.op) & (address >= 0))
        slot = events.slot[here]
        self._size[slot] = events.size[here]  # if a slot has several events, the last one stays
        self._since[slot] = self._events + here
        new = np.flatnonzero(begins(events.op))
        self._object[events.slot[new]] = self._objects + np.arange(len(new))
        self._objects += len(new)
        self._events += len(events.op)

    def snapshot(self, tiling: Tiling, scale: int) -> HeapSnapshot:
        """Return a snapshot of the heap's blocks and their contents after the latest event."""
        address, size, slot = tiling
        taken = slot >= 0
        number, requested, since = slot.copy(), np.zeros_like(slot), np.full_like(slot, -1)
        number[taken] = self._object[slot[taken]]
        requested[taken] = self._size[slot[taken]]
        since[taken] = self._since[slot[taken]]
        return HeapSnapshot(
            event=self._events - 1,
            heap_bytes=float(size[slot != HOLE].sum()) / scale,
            address=address / scale,
            size=size / scale,
            object=number,
            requested=requested,
            since=since,
            exact_address=address,
            exact_size=size,
        )


class _Refused:
    """The refused objects by slot, updated by runs of events."""

    def __init__(self, slots: int) -> None:
        self._refused = np.zeros(slots, np.bool_)

    def left_out(self, events: ReplayedEvents, address: NDArray[np.int64]) -> ReplayedEvents:
        """Return the next events; each skipped event is replaced by an event of no object."""
        op, slot, count = events.op, events.slot.astype(np.int64), len(events.op)
        failed = allocates(op) & (address < 0)
        born, freed = np.flatnonzero(begins(op)), np.flatnonzero(op == Op.FREE)
        keys = np.sort(slot[born] * count + born)
        latest = np.searchsorted(keys, slot[freed] * count + freed) - 1
        birth = keys[latest] if len(keys) else np.full(len(freed), -1)
        is_here = (latest >= 0) & (birth // count == slot[freed])
        is_refused = np.where(is_here, failed[birth % count], self._refused[slot[freed]])
        self._refused[slot[born]] = failed[born]  # if a slot has several births, the last one stays
        skipped = np.concatenate((np.flatnonzero(failed), freed[is_refused]))
        op = op.copy()
        op[skipped] = Op.EMPTY
        return events._replace(op=op)


class HeapObserver(Protocol):
    """An observer of a run's heap after some of its events."""

    @property
    def events(self) -> Sequence[int]:
        """Events after which the observer examines the heap."""

    def look(self, heap: HeapReplay) -> None:
        """Examine the heap in its current state."""


def check_run(source: EventSource, run: Run) -> None:
    """Raise `SimallocError` unless the run's length matches the whole trace."""
    if run.events == len(source) and run.objects == source.objects:
        return
    if not run.finished:
        raise SimallocError(
            f"the run of {run.trace} ran out of memory at event {run.first_refused_event:,}; only "
            "complete runs can be examined. Choose a larger capacity, or 0 for none"
        )
    raise SimallocError(
        f"the run is of {run.trace}, not of {source.name}; give the trace of the run"
    )


class HeapReplay:
    """A replay of a run's trace that shows the run's heap to all observers.

    The replay ends after `events` events, or at the end of the trace if `events` is None, but not
    before the last event that an observer requires. With `pages` it tracks the pages that are or
    were resident. `progress` is called with the number of events since its last call.

    Raises `SimallocError` if the run is not of the trace, or if a required event does not exist.
    """

    def __init__(
        self,
        source: EventSource,
        run: Run,
        observers: Sequence[HeapObserver] = (),
        *,
        events: int | None = None,
        pages: bool = False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        check_run(source, run)
        self._stops = sorted({event for one in observers for event in one.events})
        for event in self._stops:
            if not 0 <= event < len(source):
                raise SimallocError(
                    f"event {event} of {source.name} cannot be shown; choose an event from "
                    f"0 to {len(source) - 1}"
                )
        wanted = len(source) if events is None else events
        self._end = max([wanted, *(event + 1 for event in self._stops[-1:])])
        self._run = run
        self._observers = observers
        self._progress = progress
        self._setting = Setting.of(source, run.policy, run.options, resident=pages, occupied=())
        self._contents = _SlotContents(source.slots if observers else 0)
        self._refused = _Refused(source.slots) if run.refused else None
        self._heap: Simulation | OfflineHeap | None = None
        self._addresses = run.addresses
        self._done = 0

    @property
    def slots(self) -> int:
        """Maximum number of simultaneously live objects."""
        return self._setting.source.slots

    def go(self) -> None:
        """Replay the events for the observers only."""
        for _ in self.replayed_parts():
            pass

    def replayed_parts(self, columns: Collection[str] = ()) -> Generator[ReplayedEvents]:
        """Yield the events from the first on, with a column `address` if requested.

        Addresses are int64, in scaled bytes. An observer sees the heap when the caller has taken
        the events before it. Refused requests and later events of refused objects become events of
        no object.
        """
        self._begin()
        with closing(replayed_parts(self._setting.source, self._setting.columns)) as parts:
            while self._done < self._end:
                for part in self._cut(next(parts)):
                    address = self._carry_out(part)
                    if self._stops:
                        self._contents.note(part, address)
                    done = self._refused.left_out(part, address) if self._refused else part
                    yield done._replace(
                        columns={"address": address} if "address" in columns else {}
                    )
                    self._let_look()

    def free_sizes(self) -> NDArray[np.int64]:
        """Return the number and the bytes of free blocks by size: an array (2, `SIZE_POWERS`).

        A block's class is the largest power of two not above its program bytes, from `LOWEST_POWER`
        on. The rows are the number of blocks, and their scaled bytes.
        """
        assert self._heap is not None
        return np.frombuffer(self._heap.free_sizes(), np.int64).reshape(2, SIZE_POWERS)

    def parts(self) -> Iterator[HeapSnapshot]:
        """Yield the blocks in address order, in at least one part."""
        assert self._heap is not None
        count = self._heap.block_count()
        room = max(_PART_BLOCKS, -(-count // _MAX_PARTS))
        for first in range(0, max(count, 1), room):
            tiling = Tiling.empty(min(room, count - first))
            self._heap.blocks(first, *tiling)
            yield self._contents.snapshot(tiling, self._setting.scale)

    def reported(self) -> dict[str, int]:
        """Return the allocator's current statistics by its own names, in unscaled bytes."""
        heap = self._heap
        if not isinstance(heap, Simulation):
            return {}
        return dict(zip(heap.figure_names(), heap.report(), strict=True))

    def largest_free(self) -> float | None:
        """Return the program bytes of the largest free block, or None if not measured."""
        if not self._setting.options.largest_free:
            return None
        if isinstance(self._heap, Simulation):
            return self._heap.largest_free() / self._setting.scale
        return max(float(part.size[part.object == FREE].max(initial=0)) for part in self.parts())

    def in_pages(
        self, snapshot: HeapSnapshot
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return each block's scaled bytes in resident pages, and in touched pages, or None.

        Touched pages are or were resident since they were mapped. The result is None if pages are
        not tracked.
        """
        if not isinstance(self._heap, Simulation) or not self._setting.options.resident:
            return None
        resident, touched = np.empty((2, len(snapshot)), np.int64)
        self._heap.in_pages(snapshot.exact_address, snapshot.exact_size, resident, touched)
        return resident, touched

    def _begin(self) -> None:
        """Make the heap before the first event, if needed."""
        if self._addresses is not None and not self._stops:
            return
        require_for([self._setting])
        runner = runner_of(self._setting.policy)
        self._heap = runner.heap_of(self._setting)
        if self._setting.options.resident and isinstance(self._heap, Simulation):
            self._heap.keep_touched()
        if not isinstance(self._heap, Simulation) and self._addresses is None:
            self._addresses = runner.run_one(self._setting, addresses=True).addresses

    def _cut(self, events: ReplayedEvents) -> Iterator[ReplayedEvents]:
        """Yield the events in parts that end at each observed event and at the end."""
        first = self._done
        after = [event + 1 - first for event in self._stops]
        end = min(len(events.op), self._end - first)
        edges = [0, *(edge for edge in after if 0 < edge < end), end]
        for start, stop in pairwise(edges):
            yield events.part(start, stop)

    def _carry_out(self, events: ReplayedEvents) -> NDArray[np.int64]:
        """Replay the next events, and return their objects' addresses."""
        first = self._done
        self._done += len(events.op)
        if isinstance(self._heap, Simulation):
            return self._simulated(self._heap, events)
        if self._heap is not None:
            self._heap.go_to(self._done)
        self._progress(len(events.op))
        assert self._addresses is not None
        return self._addresses[first : self._done]

    def _simulated(self, simulation: Simulation, events: ReplayedEvents) -> NDArray[np.int64]:
        address = np.empty(len(events.op), np.int64)
        done = 0
        for part in parts_of(events, self._setting.policy):
            replay(simulation, part, address[done : done + len(part.op)])
            done += len(part.op)
            self._progress(len(part.op))
        return address

    def _let_look(self) -> None:
        for one in self._observers:
            if self._done - 1 in one.events:
                one.look(self)
