"""The cause of a refused request: leak or fragmentation, and the objects between free blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay_all
from simalloc.policy import Policy, expand_policies
from simalloc.policy.pool.base import NO_FIGURE
from simalloc.pool.block_pools import BlockPoolChoices, BlockPools
from simalloc.pool.trial import PoolTrial
from simalloc.trace import Op, Trace
from simalloc.trace.events import allocates
from simalloc.trace.stacks import path_of

_FREE: Final = -1

_MAX_BLOCK_POOLS: Final = 4
"""Maximum number of pools of fixed-size blocks that are tried together with a smaller heap."""


@dataclass(frozen=True)
class Separator:
    """Live objects of one call site, or of one size, between two free blocks.

    `age` is the mean number of events since they were allocated. `never_freed` is the number of
    objects that the trace never frees.
    """

    what: str
    objects: int
    bytes: int
    age: float
    never_freed: int


@dataclass(frozen=True)
class Diagnosis:
    """The first refused request of a trace in one pool; sizes are bytes.

    `largest_request` is the largest request that would have been served, or None if the policy does
    not report it. `served_by` names embedded allocators that serve every request in a pool of the
    same size. `block_pools` are fixed-size pools with which the same allocator serves every request
    in the remaining bytes, or None if no choice of at most four pools is sufficient.
    """

    policy: Policy
    event: int
    asked: int
    live: int
    peak_live: int
    capacity: int
    free: int
    largest_free: int
    free_blocks: int
    largest_request: int | None
    separators: tuple[Separator, ...]
    served_by: tuple[str, ...]
    block_pools: BlockPools | None

    @property
    def verdict(self) -> str:
        """Cause of the refusal: a small, full or fragmented pool, or a missed free block."""
        if self.live == 0:
            return (
                f"The pool is too small: nothing was live when a request of {self.asked:,} bytes "
                "was refused."
            )
        if self.free < self.asked:
            return (
                f"The pool was full: {self.live:,} bytes were live, and {self.free:,} bytes were "
                f"free for a request of {self.asked:,}."
            )
        if self.largest_free >= self.asked:
            return (
                f"Size classes or headers: the largest free block had {self.largest_free:,} bytes "
                f"with its header, but did not serve a request of {self.asked:,}. "
                f"{self.free:,} bytes were free in {self.free_blocks:,} blocks."
            )
        return (
            f"Fragmentation: {self.free:,} bytes were free in {self.free_blocks:,} blocks, but the "
            f"largest had {self.largest_free:,} bytes for a request of {self.asked:,}."
        )


def diagnose(
    trace: Trace, policy: Policy, capacity: int, others: Sequence[Policy] | None = None
) -> Diagnosis | None:
    """Return the cause of the first refusal in a pool of `capacity` bytes, or None if none occurs.

    `others` are the policies that are tried in a pool of the same size; the default is @pool.
    """
    trial = PoolTrial.of(policy, [trace])
    chosen = trial.with_capacity(capacity)
    setting = Setting.of(trace, chosen, on_refusal="stop")
    simulation = setting.simulation()
    replay_all(simulation, setting)
    event = int(simulation.figures()["first_refused"])
    if event == 0:
        return None
    count = simulation.block_count()
    address, size, slot = (np.empty(count, np.int64) for _ in range(3))
    simulation.blocks(0, address, size, slot)
    free: NDArray[np.int64] = size[slot == _FREE] // setting.scale
    if chosen.description.core_parameters().get("capacity"):  # a heap that grows
        mapped = simulation.figures()["mapped"]["final"] // setting.scale
        free = _with_room(free, capacity - mapped, merges=count > 0 and slot[-1] == _FREE)
    reported = dict(zip(simulation.figure_names(), simulation.report(), strict=True))
    largest_request = reported.get("largest", NO_FIGURE)
    tried = expand_policies("@pool") if others is None else others
    return Diagnosis(
        policy=chosen,
        event=event,
        asked=int(trace.size[event - 1]),
        live=int(trace.replayed.live[event - 2]) if event > 1 else 0,
        peak_live=trial.peak_live,
        capacity=capacity,
        free=int(free.sum()),
        largest_free=int(free.max(initial=0)),
        free_blocks=len(free),
        largest_request=None if largest_request == NO_FIGURE else largest_request,
        separators=_separators(trace, event - 1, slot),
        served_by=tuple(
            other.name for other in tried if PoolTrial.of(other, [trace])(capacity).refused == 0
        ),
        block_pools=_helpful_pools(trace, policy, capacity, trial.peak_live),
    )


def _helpful_pools(
    trace: Trace, policy: Policy, capacity: int, peak_live: int
) -> BlockPools | None:
    """Return the fewest block pools that make a heap in the remaining bytes sufficient, or None."""
    choices = BlockPoolChoices.of([trace])
    for count in range(1, _MAX_BLOCK_POOLS + 1):
        found = choices.choose(count, heap_cost=capacity / max(peak_live, 1))
        heap = capacity - found.pool_bytes
        if heap > 0 and PoolTrial.of(policy, [found.rest_of(trace)])(heap).refused == 0:
            return found
    return None


def _with_room(free: NDArray[np.int64], room: int, *, merges: bool) -> NDArray[np.int64]:
    """Return the free sizes, including the bytes of the capacity that the heap has not mapped."""
    if merges:
        return np.append(free[:-1], free[-1] + room)
    return np.append(free, room) if room > 0 else free


def _separators(trace: Trace, event: int, slot: NDArray[np.int64]) -> tuple[Separator, ...]:
    """Return the objects between two free blocks with at most two live blocks between them."""
    births = np.flatnonzero(allocates(trace.op[:event]))
    born = dict(zip(trace.slot[births].tolist(), births.tolist(), strict=True))
    freed = set(trace.object[trace.op == Op.FREE].tolist())
    free_at = np.flatnonzero(slot == _FREE)
    between = [
        block
        for low, high in zip(free_at[:-1].tolist(), free_at[1:].tolist(), strict=True)
        if high - low <= 3
        for block in range(low + 1, high)
    ]
    objects: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    ages: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for block in between:
        birth = born.get(int(slot[block]))
        if birth is None:
            continue
        what = _what(trace, birth)
        objects[what] += 1
        sizes[what] += int(trace.size[birth])
        ages[what] += event - birth
        kept[what] += int(trace.object[birth]) not in freed
    return tuple(
        Separator(what, number, sizes[what], ages[what] / number, kept[what])
        for what, number in objects.most_common()
    )


def _what(trace: Trace, birth: int) -> str:
    """Return the call site of an allocation, or its size if the trace has no call sites."""
    if trace.site is not None and "stacks" in trace.provenance:
        frame = next(path_of(trace.provenance["stacks"], int(trace.site[birth])), None)
        if frame is not None:
            function, file, line = frame
            where = f"{file}:{line}"
            return f"{function} ({where})" if function and file else function or where
    return f"{int(trace.size[birth]):,} bytes"
