"""The functions whose objects should move to a separate heap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import Run, simulate
from simalloc.measure.sites.apart import Apart, Parting
from simalloc.measure.sites.frames import Frame, call_paths, folded
from simalloc.measure.sites.holding import held_under
from simalloc.measure.sites.profile import Profile
from simalloc.policy import AnyPolicy
from simalloc.shown import ShownAsTable
from simalloc.trace import EventSource, Trace
from simalloc.trace.sample import sampled_every

TRIED_EVENTS: Final = 2_000_000
"""Maximum number of events that are replayed in two heaps."""

_ALONE: Final = 4
_TOGETHER: Final = (2, 3)
"""Numbers of the largest functions that are tried together in one heap; `_ALONE` are tried alone.

If only the end of the heap is trimmed, the objects of one function pin the memory of another.
"""

_WORTH: Final = 0.01
"""Minimum saving of a proposal, as a share of the resident bytes."""


@dataclass(frozen=True)
class Proposal(ShownAsTable):
    """Functions whose objects could have a separate arena or pool, and the saving.

    `events` is the number of replayed events, and `of_events` the number of events in the trace.
    """

    frames: tuple[Frame, ...]
    apart: Apart
    events: int
    of_events: int


def best_apart(
    source: EventSource,
    policy: AnyPolicy | Run,
    *,
    profile: Profile | None = None,
    most: int = 3,
    events: int = TRIED_EVENTS,
    page: int = 4096,
    wrappers: Sequence[str] | None = (),
    progress: Callable[[int], None] = lambda _: None,
) -> list[Proposal]:
    """Return functions whose objects should have a separate heap, the largest saving first.

    Parameters
    ----------
    source, policy
        The trace, and the policy or its run. A run of the whole trace is not replayed again.
    profile
        Measures of the sites under the run, if they are known.
    most
        Maximum number of proposals.
    events
        Maximum number of events to replay, from the first; each proposal states the number.
    page, progress
        As in `held_under`; at most `events_of_best_apart` events are replayed.
    wrappers
        Patterns of additional allocation wrappers; None skips no wrapper.

    Returns
    -------
    list of Proposal
        Each proposal saves at least 1 %. A proposal is omitted if a better one moves only a part of
        its functions. The list is empty if the trace has no call sites or is a sample. Of the
        functions with the most free memory in the heap, four are tried alone, and the first two and
        three together, by replays in two heaps.

    Raises
    ------
    SimallocError
        If the policy is not replayed event by event, and in the cases of `simulate`.
    """
    trace = source.prefix(events) if len(source) > events else source.in_memory()
    if trace.site is None or not len(trace) or sampled_every(trace.provenance):
        return []
    run = _run(trace, policy, progress)
    if profile is None or trace is not source:
        held = held_under(trace, run, page=page, progress=progress)
        holds = held.pinned_bytes + held.shared_bytes
    else:
        holds = np.zeros(int(trace.site.max()) + 1)
        holds[profile.sites] = profile.values["wasted_bytes"]
    functions = _functions(trace, holds, wrappers)
    parting = Parting(trace, run, progress)
    found: list[Proposal] = []
    for first, last in _tries(len(functions)):
        some = functions[first:last]
        sites = tuple(site for _, sites in some for site in sites)
        frames = tuple(frame for frame, _ in some)
        found.append(Proposal(frames, parting.apart(sites), len(trace), len(source)))
    found.sort(key=lambda one: -_gain(one))
    better = [one for at, one in enumerate(found) if not _is_enough(found[:at], one)]
    return [one for one in better[:most] if _gain(one) >= _WORTH]


def _run(trace: Trace, policy: AnyPolicy | Run, progress: Callable[[int], None]) -> Run:
    """Return the run of a trace with residence, which is `policy` itself if it is such a run."""
    if isinstance(policy, Run):
        if policy.resident is not None and policy.events == len(trace):
            return policy
        policy = policy.policy
    return simulate(trace, policy, resident=True, progress=progress)


def _is_enough(better: Sequence[Proposal], one: Proposal) -> bool:
    """Return whether a better proposal moves only functions that this proposal also moves."""
    return any(set(each.frames) <= set(one.frames) for each in better)


def _tries(functions: int) -> list[tuple[int, int]]:
    """Return the first function, and the one after the last, of each try."""
    alone = [(place, place + 1) for place in range(min(functions, _ALONE))]
    return [*alone, *((0, count) for count in _TOGETHER if count <= functions)]


def _gain(proposal: Proposal) -> float:
    """Return the saved share of the resident bytes, minus `_WORTH` for each additional function.

    An additional function therefore has to save at least this share.
    """
    found = proposal.apart
    share = found.saved / found.together_bytes if found.together_bytes else 0.0
    return share - _WORTH * (len(proposal.frames) - 1)


def events_of_best_apart(source: EventSource, events: int = TRIED_EVENTS) -> int:
    """Return the maximum number of events that `best_apart` replays."""
    return min(len(source), events) * (2 + _ALONE + len(_TOGETHER))


def _functions(
    trace: Trace, holds: NDArray[np.float64], wrappers: Sequence[str] | None
) -> list[tuple[Frame, tuple[int, ...]]]:
    """Return the functions with free memory and their sites, by decreasing free memory."""
    sites: dict[str, list[int]] = {}
    frames: dict[str, Frame] = {}
    holding = [site for site in (holds > 0).nonzero()[0].tolist() if site]  # site 0 is unknown code
    stacks = call_paths(trace.provenance, holding)
    for site, stack in zip(holding, stacks, strict=True):
        frame = stack[0] if wrappers is None else folded(stack, wrappers)[0]
        sites.setdefault(frame.function, []).append(site)
        frames.setdefault(frame.function, frame)
    order = sorted(sites, key=lambda name: -holds[sites[name]].sum())
    return [(frames[name], tuple(sites[name])) for name in order]
