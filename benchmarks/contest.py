"""Times policies and real allocators, which replay the same arrays in turn with glibc."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from statistics import median

from simalloc.heap import simulate
from simalloc.heap.real import GLIBC, Allocator, columns_of, native_process
from simalloc.policy import Policy, spell
from simalloc.trace import Trace


@dataclass(frozen=True)
class Contest:
    """One contestant on one trace: nanoseconds of CPU per event, one figure for each repeat.

    `glibc` contains the time of the pass that glibc made right after each pass of the contestant.
    """

    trace: str
    contestant: str
    nanoseconds: list[float] = field(default_factory=list)
    glibc: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Median over the repeats of the contestant's time divided by glibc's time."""
        return median(own / other for own, other in zip(self.nanoseconds, self.glibc, strict=True))


def hold(
    trace: Trace,
    policies: Sequence[Policy],
    allocators: Sequence[Allocator],
    repeats: int,
    report: Callable[[str], None],
) -> list[Contest]:
    """Replay a trace `repeats` times by every policy and allocator, each followed by glibc.

    The time of a policy is the time of `simulate`: creation of the heap, replay, measures and
    timeline. The time for data computed once per trace (`Trace.replayed`) is divided equally among
    the policies. An allocator's process replays without touching the blocks. The first pass of each
    allocator, in which its heap comes from the system, is not counted.
    """
    with ExitStack() as stack:
        columns = stack.enter_context(columns_of(trace))

        def native(allocator: Allocator) -> Callable[[], float]:
            process = stack.enter_context(native_process(columns, allocator, touch=False))
            process.time_pass()
            return lambda: process.time_pass().cpu

        glibc = native(GLIBC)
        share = _seconds_once(trace, repeats) / max(len(policies), 1)
        contestants = {spell(policy): _ours(trace, policy, share) for policy in policies}
        contestants |= {f"real {each.name}": native(each) for each in allocators}
        contests = [Contest(trace.name, name) for name in contestants]
        each = 1e9 / max(len(trace), 1)
        for repeat in range(repeats):
            for contest in contests:
                report(f"{trace.name}: {repeat + 1} of {repeats}: {contest.contestant}")
                contest.nanoseconds.append(each * contestants[contest.contestant]())
                contest.glibc.append(each * glibc())
    return contests


def _seconds_once(trace: Trace, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        anew = replace(trace)
        started = time.thread_time()
        _ = anew.replayed
        times.append(time.thread_time() - started)
    return median(times)


def _ours(trace: Trace, policy: Policy, share: float) -> Callable[[], float]:
    _ = trace.replayed  # computed before the first measurement

    def replay() -> float:
        started = time.thread_time()
        simulate(trace, policy)
        return time.thread_time() - started + share

    return replay
