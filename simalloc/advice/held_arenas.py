"""Arenas of Python's allocator that blocks keep mapped, with the number and code of the blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from simalloc.heap.running.setting import Setting
from simalloc.heap.watch.each_event import Watched
from simalloc.measure.sites.frames import call_path, folded
from simalloc.policy import AnyPolicy
from simalloc.policy.families.pymalloc import Pymalloc
from simalloc.trace import Op, Trace
from simalloc.trace.sites import spelled

_POOLS: Final = 64

SPARSE: Final = 0.1
"""An arena is nearly empty if its blocks use at most this share of its bytes."""


@dataclass(frozen=True)
class Arena:
    """An arena of Python's allocator that contains a block; `bytes` are requested bytes."""

    number: int
    """Number in the order in which arenas were mapped, from 0."""
    blocks: int
    bytes: int
    place: str
    """Call site of most of the blocks, or empty if the trace has no sites."""


@dataclass(frozen=True)
class HeldArenas:
    """The arenas after an event, in ascending order of their bytes.

    `places` has a row for each call site with blocks in nearly empty arenas: the site, the number
    of its blocks, and the number of these arenas. Rows are sorted by decreasing number of blocks.
    """

    event: int
    arena_bytes: int
    arenas: tuple[Arena, ...]
    places: tuple[tuple[str, int, int], ...]

    @property
    def sparse(self) -> tuple[Arena, ...]:
        """Nearly empty arenas."""
        return tuple(each for each in self.arenas if each.bytes <= SPARSE * self.arena_bytes)


def held_arenas(
    trace: Trace,
    policy: AnyPolicy,
    event: int | None = None,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> HeldArenas:
    """Replay a trace under a pymalloc policy and return the arenas that contain blocks.

    The arenas are examined after `event`, by default the event with the most bytes that are mapped
    but not live. `progress` is called with the number of events done since its last call. Raises
    the same exceptions as `simulate`.
    """
    setting = Setting.of(trace, policy)
    arena = np.full(len(trace), -1)
    unused = np.empty(len(trace))
    done = 0
    for sight in Watched(setting).sights():
        here = slice(done, done + len(sight.mapped))
        is_of_arena = (sight.address >= 0) & (sight.region < 0)
        arena[here][is_of_arena] = sight.number[is_of_arena]
        unused[here] = sight.mapped
        done = here.stop
        progress(len(sight.mapped))
    if event is None:
        event = int(np.argmax(unused - trace.replayed.live)) if done else -1
    last = entered(trace, event)
    last = last[arena[last] >= 0]
    pool = cast("Pymalloc", setting.policy.description).pool
    return _held(trace, event, _POOLS * pool, last, arena[last])


def entered(trace: Trace, event: int) -> NDArray[np.int64]:
    """Return the last event of each object that is live after an event."""
    last = np.full(trace.objects, -1, np.int64)
    events = np.flatnonzero(trace.object[: event + 1] >= 0)
    last[trace.object[events]] = events
    last = last[last >= 0]
    kept: NDArray[np.int64] = last[trace.op[last] != Op.FREE]
    return kept


def _held(
    trace: Trace, event: int, arena_bytes: int, entered: NDArray[np.int64], arena: NDArray[np.int64]
) -> HeldArenas:
    numbers, index, blocks = np.unique(arena, return_inverse=True, return_counts=True)
    sizes = np.bincount(index, trace.size[entered], len(numbers)).astype(np.int64)
    sites = trace.site[entered] if trace.site is not None else np.zeros(len(entered), np.int64)
    code: list[Counter[str]] = [Counter() for _ in numbers]
    names = {site: _name(trace, site) for site in np.unique(sites).tolist()}
    for place, site in zip(index.tolist(), sites.tolist(), strict=True):
        code[place][names[site]] += 1
    order = np.argsort(sizes, kind="stable").tolist()
    arenas = tuple(
        Arena(int(numbers[i]), int(blocks[i]), int(sizes[i]), code[i].most_common(1)[0][0])
        for i in order
    )
    sparse = [code[i] for i in order if sizes[i] <= SPARSE * arena_bytes]
    total = sum(sparse, Counter[str]())
    places = tuple(
        (name, count, sum(name in each for each in sparse))
        for name, count in total.most_common()
        if trace.site is not None
    )
    return HeldArenas(event, arena_bytes, arenas, places)


def _name(trace: Trace, site: int) -> str:
    """Return the innermost function of a site that is not an allocation wrapper."""
    if trace.site is None:
        return ""
    return spelled(folded(call_path(trace.provenance, site))[0].short)
