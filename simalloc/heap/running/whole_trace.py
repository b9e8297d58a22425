"""Runs of offline policies, which place a whole trace at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import Final
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from simalloc.bound import Effort, Placement, Timetable, best_possible, verify
from simalloc.bound.largest_gaps import largest_gaps
from simalloc.bound.placer import Placer
from simalloc.bound.planners import planned
from simalloc.errors import SimallocError
from simalloc.heap.run import Found, Run
from simalloc.heap.running.block_sizes import gross_sizes
from simalloc.heap.running.run_from_states import Replay, run_of_replay
from simalloc.heap.running.setting import Setting
from simalloc.heap.snapshot import FREE, LOWEST_POWER, MAPPED_FROM, SIZE_POWERS, Tiling
from simalloc.policy.families.planner import Planner, PlannerRule
from simalloc.trace import EventSource

NODES: Final = 200_000
"""Maximum number of nodes that a run's exact search visits; no clock ends the search."""

NODES_BY_OBJECTS: Final = 80_000_000
"""Maximum product of the search's nodes and the trace's objects.

It limits the time of a search, because the time per node grows with the number of objects.
"""


def run_one(
    setting: Setting,
    *,
    addresses: bool = False,
    checked: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Find the best possible placement of a trace, and return its heap as a run.

    `checked` has no effect, because every placement is verified. `progress` is called with a number
    of events, in proportion to the search; their total is the trace's length. Ctrl-C ends the
    search with the best placement so far.
    """
    del checked
    started = time.perf_counter()
    placement, unit = placement_of(setting, progress)
    trace, swept, table = setting.source.in_memory(), placement.swept, placement.table
    none = np.empty(0, np.int64)
    largest = largest_gaps(placement) if setting.options.largest_free else None
    placed = placement.by_event()
    raw = Replay(
        addresses=np.where(placed < 0, placed, placed * unit),
        live=trace.replayed.live,
        heap=swept.heap * unit,
        allocated=table.live * unit,
        free_blocks=swept.free_blocks,
        resident=None,
        largest_free=None if largest is None else largest * unit,
        occupied={},
        visited=none,
        growths=swept.growths,
        splits=swept.splits,
        coalescings=swept.coalescings,
        deallocations=0,  # an offline placement does not search
        visited_at_free=0,
        visited_at_free_worst=0,
        coalescing_frees=0,
        seconds=time.perf_counter() - started,
    )
    run = run_of_replay(raw, setting)
    found = Found(
        bound_bytes=placement.bound * unit / setting.scale,
        is_bound=placement.is_bound,
        lower_bytes=placement.lower_bound * unit / setting.scale,
        is_optimal=placement.status == "optimal",
        how=placement.how,
        tries=placement.tries,
        stopped=placement.stopped,
    )
    kept = addresses or setting.options.engine == "reference"
    return replace(run, found=found, addresses=run.addresses if kept else None)


def run_all(
    settings: Sequence[Setting],
    *,
    addresses: bool = False,
    progress: Callable[[int], None] | None = None,
) -> list[Run]:
    """Find the best possible placement of each setting, one after the other."""
    return [run_one(setting, addresses=addresses, progress=progress) for setting in settings]


def heap_of(setting: Setting) -> OfflineHeap:
    """Return the heap of the best possible placement before the first event."""
    return OfflineHeap(setting)


class OfflineHeap:
    """The heap of a placement at one moment, with the interface of the core's `Simulation`."""

    def __init__(self, setting: Setting) -> None:
        self._placement, self._unit = placement_of(setting)
        self._min = _min_sizes(setting.scale)
        self.go_to(0)

    def go_to(self, events: int) -> None:
        """Show the heap after the first `events` events."""
        self._done = events
        self._tiling: Tiling | None = None

    def block_count(self) -> int:
        """Return the number of blocks that tile the heap."""
        return len(self._tiles().address)

    def blocks(
        self,
        first: int,
        address: NDArray[np.int64],
        size: NDArray[np.int64],
        slot: NDArray[np.int64],
    ) -> int:
        """Fill arrays with the blocks in address order: scaled bytes, and the object's slot or -1.

        The arrays begin with block number `first`. Returns the number of blocks filled in.
        """
        tiles = [values[first : first + len(address)] for values in self._tiles()]
        for column, values in zip((address, size, slot), tiles, strict=True):
            column[: len(values)] = values
        return len(tiles[0])

    def free_sizes(self) -> bytes:
        """Return number and scaled bytes of free blocks by power of two, as `Simulation` does."""
        tiles = self._tiles()
        free = tiles.size[tiles.slot == FREE]
        power = np.searchsorted(self._min, free, side="right") - 1
        total = np.zeros(SIZE_POWERS, np.int64)
        np.add.at(total, power, free)  # the weights of a bincount are floats, which round
        return np.stack((np.bincount(power, minlength=SIZE_POWERS), total)).tobytes()

    def _tiles(self) -> Tiling:
        """Return the blocks at this moment; the first call computes them."""
        if self._tiling is None:
            self._tiling = self._found_tiles()
        return self._tiling

    def _found_tiles(self) -> Tiling:
        table, address = self._placement.table, self._placement.address
        live = table.live_after(self._done - 1)
        live = live[np.argsort(address[live])]
        low, high = address[live], address[live] + table.size[live]
        heap = int(self._placement.swept.heap[self._done - 1]) if self._done else 0
        edges = np.stack((np.append(0, high), np.append(low, heap)))
        free = edges[:, edges[0] < edges[1]]
        start = np.concatenate((low, free[0])).astype(np.int64)
        end = np.concatenate((high, free[1])).astype(np.int64)
        slot = np.concatenate((table.slot[live].astype(np.int64), np.full(free.shape[1], FREE)))
        order = np.argsort(start)
        return Tiling(start[order] * self._unit, (end - start)[order] * self._unit, slot[order])


def _min_sizes(scale: int) -> NDArray[np.int64]:
    """Return the minimum scaled bytes of each power of two from `LOWEST_POWER` on.

    The minimums are integers, because a float would round a large size just below a power up to it.
    """
    least = [-(-(scale << power) >> -LOWEST_POWER) for power in range(SIZE_POWERS)]
    return np.array([min(each, 2**63 - 1) for each in least], np.int64)


_Kept = dict[tuple[object, ...], Placement]
_KEPT: Final[dict[int, _Kept]] = {}
"""Placements of traces that are still in use, by identity; a search takes seconds."""


def placement_of(
    setting: Setting,
    progress: Callable[[int], None] | None = None,
) -> tuple[Placement, int]:
    """Return the placement of an offline policy, and the scaled bytes of its unit.

    Without headers the placement is the same at every scale, and is searched in program bytes.
    Raises `SimallocError` if its heap would exceed 2**62 scaled bytes.
    """
    description = setting.policy.description
    overhead = description.applied_overhead
    plain = overhead == type(overhead)()
    unit = setting.scale if plain else 1
    engine = setting.options.engine
    rule = description.rule if isinstance(description, Planner) else None
    key = (engine, rule, None if plain else (overhead, setting.scale))
    kept = _kept_of(setting.source)
    if key not in kept or kept[key].stopped:
        trace = setting.source.in_memory()
        taken = None if plain else partial(gross_sizes, overhead=overhead, scale=setting.scale)
        table = Timetable.of(trace, taken)
        _check_room(table.peak * unit)  # do not search an impossible placement
        teller = _Teller(len(trace), progress)
        if rule is None:
            nodes = min(NODES, NODES_BY_OBJECTS // max(len(table), 1))
            effort = Effort(seconds=inf, nodes=nodes, takes_help=False)
            kept[key] = best_possible(table, teller, effort=effort, placer=_placer(engine))
        else:
            kept[key] = _planned(table, rule)
            teller(1.0)
    elif progress is not None:
        progress(len(setting.source))
    _check_room(kept[key].height * unit)
    return kept[key], unit


def _planned(table: Timetable, rule: PlannerRule) -> Placement:
    """Return a planner's placement of a trace, verified."""
    address = planned(table, rule.value)
    return Placement(
        table, address, verify(table, address), how=f"planned by {rule.value}", tries=1
    )


def _check_room(heap: int) -> None:
    """Raise `SimallocError` for a heap of more scaled bytes than any policy may use.

    An object takes less than 2**61 scaled bytes, so that live bytes exceed this limit before they
    overflow an int64.
    """
    if heap > MAPPED_FROM:
        raise SimallocError("the heap would exceed 2**62 bytes")


def _placer(engine: str) -> type[Placer]:
    """Return the class that places objects in this engine."""
    if engine != "reference":
        return Placer
    from simalloc.bound.reference import ReferencePlacer  # noqa: PLC0415 - rarely needed

    return ReferencePlacer


def _kept_of(source: EventSource) -> _Kept:
    if id(source) not in _KEPT:
        finalize(source, _KEPT.pop, id(source))
    return _KEPT.setdefault(id(source), {})


class _Teller:
    """Converts shares of a search to numbers of events, whose total is the trace's length."""

    def __init__(self, events: int, progress: Callable[[int], None] | None) -> None:
        self._events = events
        self._progress = progress
        self._share = 0.0
        self._reported = 0

    def __call__(self, share: float) -> None:
        self._share += share
        events = round(min(self._share, 1.0) * self._events)
        if self._progress is not None and events > self._reported:
            self._progress(events - self._reported)
            self._reported = events
