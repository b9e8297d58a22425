"""One allocator in pools of any size, over the traces that it is to serve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from simalloc.errors import PolicyError
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import parts_of, replay
from simalloc.policy import Policy
from simalloc.pool.search import Outcome
from simalloc.trace import ReplayedEvents, Trace

NO_LIMIT: Final = 1 << 62
"""Bytes that no pool has."""


@dataclass(frozen=True, eq=False)
class PoolTrial:
    """A policy that has a `capacity`, and the traces that it is to serve."""

    policy: Policy
    traces: tuple[Trace, ...]

    @classmethod
    def of(cls, policy: Policy, traces: Sequence[Trace]) -> PoolTrial:
        """Return the trial of a policy; raises `PolicyError` if it has no capacity."""
        if "capacity" not in policy.all_parameters:
            raise PolicyError(
                f"{policy.name} has no capacity, so it cannot be used as a pool; "
                "`simalloc policies @pool` lists the policies with a capacity"
            )
        return cls(policy, tuple(traces))

    @cached_property
    def grain(self) -> int:
        """Pools whose sizes round down to the same multiple of this behave alike."""
        return int(getattr(self.policy.description, "grain", 1))

    @cached_property
    def is_monotone(self) -> bool:
        """True if every pool larger than a sufficient one is sufficient."""
        return bool(getattr(self.policy.description, "is_monotone", False))

    @cached_property
    def has_more_memory(self) -> bool:
        """True if objects can also be in memory besides the pool."""
        return bool(getattr(self.policy.description, "has_more_memory", False))

    def min_from(self, high_water: int) -> int | None:
        """Return the smallest pool by the high-water mark of one with room; None without a rule."""
        rule = getattr(self.policy.description, "min_from", None)
        return None if rule is None else rule(high_water)

    @cached_property
    def min_capacity(self) -> int:
        """The bytes of the smallest pool that the allocator can be made in."""
        return int(getattr(self.policy.description, "min_capacity", 1))

    @cached_property
    def peak_live(self) -> int:
        """The peak of live bytes over all traces: no pool is smaller."""
        return max((int(trace.replayed.live.max(initial=0)) for trace in self.traces), default=0)

    @cached_property
    def low(self) -> int:
        """The peak of live bytes, which no pool without other memory can be smaller than.

        Beside other regions or a second pool, the pool may be smaller.
        """
        return max(self.min_capacity, 1 if self.has_more_memory else self.peak_live, 1)

    @cached_property
    def first_size(self) -> int:
        """The smallest size to try: smaller pools cannot hold the blocks of all live objects."""
        if self.has_more_memory:
            return self.low
        try:
            description = self.with_capacity(self.low).description
        except PolicyError:  # larger than the allocator's own limit
            return self.low
        block_bytes = getattr(description, "block_bytes", int)
        return max(self.low, *(_peak_of_blocks(trace, block_bytes) for trace in self.traces))

    def with_capacity(self, capacity: int) -> Policy:
        """Return the policy in a pool of some bytes; raises `PolicyError` if it cannot be made."""
        return self.policy.with_parameters(capacity=capacity)

    def __call__(self, capacity: int) -> Outcome:
        """Return the result of a pool of `capacity` bytes: the traces end at the first refusal."""
        try:
            policy = self.with_capacity(capacity)
        except PolicyError:  # too small, or larger than the allocator's own limit
            too_small = capacity < self.min_capacity
            return Outcome(1, self.min_capacity - 1 if too_small else NO_LIMIT)
        same = capacity
        for trace, events in zip(self.traces, self._events, strict=True):
            refused, more = _replay(trace, policy, events)
            if refused:
                return Outcome(refused, capacity + self._alike(policy, capacity, more))
            same = more if trace is self.traces[0] else min(same, more)
        return Outcome(0, capacity + self._alike(policy, capacity, same))

    def _alike(self, policy: Policy, capacity: int, more: int) -> int:
        """Return the number of bytes, up to `more`, by which the pool may grow and decide alike.

        `policy` is the policy in a pool of `capacity` bytes. The core reports that for its own
        decisions; some allocators have other tables in a larger pool.
        """
        unused = getattr(policy.description, "unused_end", 0)
        more = min(max(more - unused, 0), capacity) // self.grain * self.grain
        if more == 0:
            return 0
        if not any(low <= capacity and capacity + more < high for low, high in self._same_tables):
            self._same_tables.append((capacity, self._other_tables(capacity)))
        ends = [high for low, high in self._same_tables if low <= capacity < high]
        return min(more, max(ends) - 1 - capacity) // self.grain * self.grain

    def _other_tables(self, capacity: int) -> int:
        """Return the smallest pool above `capacity`, up to three times it, with other tables."""
        tables = self._tables(capacity)
        same, other = capacity // self.grain, 3 * capacity // self.grain
        while other - same > 1:
            middle = (same + other) // 2
            if self._tables(middle * self.grain) == tables:
                same = middle
            else:
                other = middle
        return other * self.grain

    def _tables(self, capacity: int) -> dict[str, int | str] | None:
        """Return the core's parameters except the size, or None if the pool is too large."""
        try:
            description = self.with_capacity(capacity).description
        except PolicyError:
            return None
        sizes = getattr(description, "follows_capacity", ("capacity", "pool_bytes"))
        parameters = description.core_parameters()
        return {name: value for name, value in parameters.items() if name not in sizes}

    @cached_property
    def _same_tables(self) -> list[tuple[int, int]]:
        """Pool sizes, from the first to below the second, within which the tables are the same."""
        return []

    @cached_property
    def _events(self) -> tuple[ReplayedEvents, ...]:
        """The events of each trace with the columns that the policy depends on."""
        columns = self.policy.description.read_columns
        return tuple(_with_columns(trace, columns) for trace in self.traces)


def _peak_of_blocks(trace: Trace, block_bytes: Callable[[int], int]) -> int:
    """Return the peak of the live bytes if each object takes the bytes of its smallest block."""
    sizes, which = np.unique(trace.size, return_inverse=True)
    blocks = np.array([block_bytes(size) if size > 0 else 0 for size in sizes.tolist()], np.int64)
    taken = Trace.from_events(trace.op, trace.object, blocks[which])
    return int(taken.replayed.live.max(initial=0))


def _with_columns(trace: Trace, columns: Sequence[str]) -> ReplayedEvents:
    wanted = {name: values for name, values in trace.columns.items() if name in columns}
    return trace.replayed._replace(columns=wanted)


def _replay(trace: Trace, policy: Policy, events: ReplayedEvents) -> tuple[int, int]:
    """Return the first refused event, and by how many bytes a pool may grow and behave the same."""
    setting = Setting.of(trace, policy, on_refusal="stop")
    simulation = setting.simulation()
    simulation.measure_nothing()
    for part in parts_of(events, policy):
        if replay(simulation, part) < len(part.op):
            break
    figures = simulation.figures()
    return int(figures["first_refused"]), int(figures["same_for"])
