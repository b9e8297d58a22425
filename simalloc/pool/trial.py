"""One allocator in pools of any size, and the traces that it should serve."""

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
"""A number of bytes that no pool reaches."""


@dataclass(frozen=True, eq=False)
class PoolTrial:
    """A policy that has a `capacity`, and the traces that it should serve."""

    policy: Policy
    traces: tuple[Trace, ...]

    @classmethod
    def of(cls, policy: Policy, traces: Sequence[Trace]) -> PoolTrial:
        """Return the trial of a policy. Raises `PolicyError` if it has no capacity."""
        if "capacity" not in policy.all_parameters:
            raise PolicyError(
                f"{policy.name} has no capacity, so it cannot be used as a pool; "
                "`simalloc policies @pool` lists the policies with a capacity"
            )
        return cls(policy, tuple(traces))

    @cached_property
    def grain(self) -> int:
        """Number of bytes: sizes that round down to the same multiple of it behave alike."""
        return int(getattr(self.policy.description, "grain", 1))

    @cached_property
    def is_monotone(self) -> bool:
        """True if every pool larger than a sufficient one is sufficient."""
        return bool(getattr(self.policy.description, "is_monotone", False))

    @cached_property
    def has_more_memory(self) -> bool:
        """True if objects can also be in memory outside the pool."""
        return bool(getattr(self.policy.description, "has_more_memory", False))

    def min_from(self, high_water: int) -> int | None:
        """Return the smallest pool, calculated from the high-water mark of an ample pool.

        The result is None if the policy has no rule for this.
        """
        rule = getattr(self.policy.description, "min_from", None)
        return None if rule is None else rule(high_water)

    @cached_property
    def min_capacity(self) -> int:
        """Minimum capacity in bytes that the allocator accepts."""
        return int(getattr(self.policy.description, "min_capacity", 1))

    @cached_property
    def peak_live(self) -> int:
        """Peak of live bytes over all traces: no pool without other memory is smaller."""
        return max((int(trace.replayed.live.max(initial=0)) for trace in self.traces), default=0)

    @cached_property
    def low(self) -> int:
        """Smallest pool size to consider: the peak of live bytes, at least `min_capacity`.

        If objects can also be in memory outside the pool, the peak is not a limit.
        """
        return max(self.min_capacity, 1 if self.has_more_memory else self.peak_live, 1)

    @cached_property
    def first_size(self) -> int:
        """Smallest size to try: smaller pools cannot hold the blocks of all live objects."""
        if self.has_more_memory:
            return self.low
        try:
            description = self.with_capacity(self.low).description
        except PolicyError:  # larger than the allocator's own limit
            return self.low
        block_bytes = getattr(description, "block_bytes", int)
        return max(self.low, *(_peak_of_blocks(trace, block_bytes) for trace in self.traces))

    def with_capacity(self, capacity: int) -> Policy:
        """Return the policy with a pool of some bytes.

        Raises `PolicyError` if the size is invalid.
        """
        return self.policy.with_parameters(capacity=capacity)

    def __call__(self, capacity: int) -> Outcome:
        """Return the result of a pool of `capacity` bytes. The traces end at the first refusal."""
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
        """Return by how many bytes, up to `more`, the pool may grow with the same decisions.

        `policy` has a pool of `capacity` bytes. The core reports `more` for its own decisions. The
        result is less than `more` if the allocator has other tables in a larger pool.
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
        """Return the core's parameters without the size, or None if the pool is too large."""
        try:
            description = self.with_capacity(capacity).description
        except PolicyError:
            return None
        sizes = getattr(description, "follows_capacity", ("capacity", "pool_bytes"))
        parameters = description.core_parameters()
        return {name: value for name, value in parameters.items() if name not in sizes}

    @cached_property
    def _same_tables(self) -> list[tuple[int, int]]:
        """Ranges of pool sizes with the same tables: first size, and end (exclusive)."""
        return []

    @cached_property
    def _events(self) -> tuple[ReplayedEvents, ...]:
        """The events of each trace with the columns that the policy depends on."""
        columns = self.policy.description.read_columns
        return tuple(_with_columns(trace, columns) for trace in self.traces)


def _peak_of_blocks(trace: Trace, block_bytes: Callable[[int], int]) -> int:
    """Return the peak of live bytes if each object occupied its smallest possible block."""
    sizes, which = np.unique(trace.size, return_inverse=True)
    blocks = np.array([block_bytes(size) if size > 0 else 0 for size in sizes.tolist()], np.int64)
    taken = Trace.from_events(trace.op, trace.object, blocks[which])
    return int(taken.replayed.live.max(initial=0))


def _with_columns(trace: Trace, columns: Sequence[str]) -> ReplayedEvents:
    wanted = {name: values for name, values in trace.columns.items() if name in columns}
    return trace.replayed._replace(columns=wanted)


def _replay(trace: Trace, policy: Policy, events: ReplayedEvents) -> tuple[int, int]:
    """Return the first refused event, and by how many bytes the pool may grow without a change."""
    setting = Setting.of(trace, policy, on_refusal="stop")
    simulation = setting.simulation()
    simulation.measure_nothing()
    for part in parts_of(events, policy):
        if replay(simulation, part) < len(part.op):
            break
    figures = simulation.figures()
    return int(figures["first_refused"]), int(figures["same_for"])
