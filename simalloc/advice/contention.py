"""Contention of threads for an arena, estimated from the times of a trace.

A replay processes one event at a time and never waits, unlike the threads of a program that share
arenas. docs/settings.md defines the counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.trace import Op, Trace

if TYPE_CHECKING:
    from simalloc.advice.candidates import Candidate
    from simalloc.heap import Run

AT_ONCE: Final = 1000
"""Maximum nanoseconds between two conflicting requests: the time for which a lock is held."""

MAX_EVENTS: Final = 400_000
"""Maximum number of events that are examined, in the middle of the trace."""


class Cache(NamedTuple):
    """A thread's cache: `slots` blocks of each class up to `largest` bytes.

    An empty cache takes `batch` blocks from the arena; a full one returns `batch` blocks.
    """

    slots: int
    batch: int
    largest: int


def at_once(trace: Trace, runs: Mapping[Candidate, Run]) -> dict[Candidate, float | None]:
    """Return the share of requests that compete with another thread for an arena, by candidate.

    The share is None if the trace has no times, or if the malloc's thread caches and arenas are
    unknown.
    """
    if trace.thread is None or not trace.thread.any():
        return dict.fromkeys(runs, 0.0)
    if trace.time is None:
        return dict.fromkeys(runs)
    found: dict[Candidate, float | None] = {}
    beyond: dict[Cache, _Wants] = {}
    for candidate, run in runs.items():
        if candidate.allocator not in _SHARED:
            found[candidate] = None
            continue
        cache, arenas = _SHARED[candidate.allocator](run.policy.description)
        if arenas and cache not in beyond:
            beyond[cache] = _wants(trace, cache)
        together = _together(beyond[cache], arenas) if arenas else 0
        found[candidate] = together / max(min(len(trace), MAX_EVENTS), 1)
    return found


def _glibc(description: Any) -> tuple[Cache, int]:
    count = description.resolved["tcache_count"]
    return Cache(count, 1, description.resolved["tcache_max"]), description.most_arenas


def _jemalloc(description: Any) -> tuple[Cache, int]:
    slots = 100 if description.tcache else 0
    return Cache(slots, slots // 2, description.largest_cached), description.arenas


def _tcmalloc(_: Any) -> tuple[Cache, int]:
    return Cache(64, 32, 256 << 10), 1


def _mimalloc(_: Any) -> tuple[Cache, int]:
    return Cache(0, 0, 0), 0


_SHARED: Final = {
    "glibc": _glibc,
    "jemalloc": _jemalloc,
    "tcmalloc": _tcmalloc,
    "mimalloc": _mimalloc,
}
"""Functions that return the thread cache of a malloc and the number of shared arenas."""


class _Wants(NamedTuple):
    """Requests that reach an arena: time in nanoseconds, thread, and owner of the arena."""

    time: NDArray[np.int64]
    thread: NDArray[np.int64]
    owner: NDArray[np.int64]


def _wants(trace: Trace, cache: Cache) -> _Wants:
    """Return the requests that no thread cache serves, in the examined `MAX_EVENTS` events."""
    assert trace.thread is not None, "at_once() has checked that the trace has threads"
    assert trace.time is not None, "at_once() has checked that the trace has times"
    threads = np.unique(trace.thread, return_inverse=True)[1].astype(np.int64)
    sizes, owners = _lives(trace, threads)
    first = max(0, (len(trace) - MAX_EVENTS) // 2)
    part = slice(first, first + MAX_EVENTS)
    of_object = trace.object[part] >= 0
    number = trace.object[part][of_object]
    op, thread = trace.op[part][of_object], threads[part][of_object]
    size = np.where(op == Op.FREE, sizes[number], trace.size[part][of_object])
    kinds = np.where(size <= 1024, (size + 15) // 16, 1024 + np.log2(np.maximum(size, 1)) * 4)
    keys = thread << 20 | kinds.astype(np.int64)
    asks = _uncached(op.tolist(), keys.tolist(), (size <= cache.largest).tolist(), cache)
    owner = np.where(op == Op.MALLOC, thread, owners[number])
    return _Wants(trace.time[part][of_object][asks], thread[asks], owner[asks])


def _lives(trace: Trace, threads: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each object's last size, and the thread that allocated it."""
    objects = int(trace.object.max(initial=-1)) + 1
    sizes, owners = np.zeros(objects, np.int64), np.zeros(objects, np.int64)
    sized = (trace.op == Op.MALLOC) | (trace.op == Op.REALLOC)
    sizes[trace.object[sized]] = trace.size[sized]
    born = trace.op == Op.MALLOC
    owners[trace.object[born]] = threads[born]
    return sizes, owners


def _uncached(ops: list[int], keys: list[int], small: list[bool], cache: Cache) -> list[int]:
    """Return the events that the cache of their thread does not serve."""
    held: dict[int, int] = {}
    beyond = []
    for event, (op, key, fits) in enumerate(zip(ops, keys, small, strict=True)):
        has = held.get(key, 0)
        if fits and op == Op.MALLOC and has:
            held[key] = has - 1
        elif fits and op == Op.FREE and has < cache.slots:
            held[key] = has + 1
        else:
            beyond.append(event)
            if fits and cache.slots:
                held[key] = cache.batch - 1 if op == Op.MALLOC else cache.slots - cache.batch + 1
    return beyond


def _together(wants: _Wants, arenas: int) -> int:
    """Return the number of requests shortly after another thread's request to the same arena."""
    arena = wants.owner % arenas
    order = np.argsort(arena, kind="stable")
    time, thread, arena = wants.time[order], wants.thread[order], arena[order]
    near = (arena[1:] == arena[:-1]) & (np.diff(time) < AT_ONCE)
    return int((near & (thread[1:] != thread[:-1])).sum())
