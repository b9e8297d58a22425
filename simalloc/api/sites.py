"""Which code has the memory, and which code pins the heap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simalloc.api.traces import Source, read_trace
from simalloc.measure.sites import (
    Apart,
    At,
    Parting,
    Profile,
    Proposal,
    events_of_best_apart,
    profile_of,
)
from simalloc.measure.sites import best_apart as best_of
from simalloc.policy import AnyPolicy, find_policy, spell
from simalloc.progress import progress as any_progress

if TYPE_CHECKING:
    from simalloc.report.flame_graph import FlameGraph


def sites(
    trace: Source,
    policy: AnyPolicy | None = None,
    *,
    at: At = "worst",
    page: int = 4096,
    wrappers: Sequence[str] | None = (),
    progress: bool | None = None,
) -> Profile:
    """Return what the code of a program asked for and, under a policy, what it pins.

    The heap is looked at when most is wasted, at its peak or at the end (`at`). Pages have `page`
    bytes. `wrappers` are patterns of functions that allocate for others, beside those that are
    known; None leaves all in. What the measures are: docs/sites.md. In a notebook it is a table.

    Raises `SimallocError` if the trace does not say where its calls are.
    """
    replayed = read_trace(trace, progress=progress)
    events = 2 * len(replayed) if policy is not None else 0
    with any_progress(replayed.name, events, shown=progress) as bar:
        return profile_of(replayed, policy, at=at, page=page, wrappers=wrappers, progress=bar)


def draw_flame_graph(
    trace: Source,
    *policies: AnyPolicy,
    at: At = "worst",
    page: int = 4096,
    wrappers: Sequence[str] | None = (),
    progress: bool | None = None,
) -> FlameGraph:
    """Return call paths as boxes, each below its caller, as wide as its share; under policies too.

    In a notebook it zooms, searches and is coloured by what is pinned, live or wasted; `save`
    writes a page that needs nothing else. Arguments and errors are those of `sites`.
    """
    from simalloc.report.flame_graph import FlameGraph  # noqa: PLC0415 - needs an extra

    replayed = read_trace(trace, progress=progress)
    profiles = {
        spell(find_policy(one)): sites(
            replayed, one, at=at, page=page, wrappers=wrappers, progress=progress
        )
        for one in policies
    }
    return FlameGraph(
        replayed.name,
        profiles or {"": sites(replayed, wrappers=wrappers, progress=progress)},
    )


def apart(
    trace: Source, policy: AnyPolicy, function: str, *, progress: bool | None = None
) -> Apart:
    """Return what a heap of their own for the objects of a function would save.

    The trace is replayed under the policy in one heap and in two, which are compared at their peaks
    and when most is saved. Raises `SimallocError` if no call site is in such a function, or the
    trace does not say where its calls are.
    """
    replayed = read_trace(trace, progress=progress)
    chosen = profile_of(replayed).sites_in(function)
    with any_progress(replayed.name, 2 * len(replayed), shown=progress) as bar:
        return Parting(replayed, policy, bar).apart(chosen)


def best_apart(
    trace: Source, policy: AnyPolicy, *, most: int = 3, progress: bool | None = None
) -> list[Proposal]:
    """Return whose objects should have a heap of their own, the largest saving first.

    Only the first two million events are replayed, some nine times; each proposal says so. Raises
    as `simulate` does, and `SimallocError` for a policy that is not replayed event by event.
    """
    replayed = read_trace(trace, progress=progress)
    events = events_of_best_apart(replayed)
    with any_progress(replayed.name, events, shown=progress) as bar:
        return best_of(replayed, policy, most=most, progress=bar)
