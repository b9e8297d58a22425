"""Which code's objects are best moved to a region of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from simalloc.measure.sites.apart import Apart, Parting
from simalloc.measure.sites.frames import frames_of, guilty_frame
from simalloc.measure.sites.holding import held_under
from simalloc.trace.sites import site_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from simalloc.measure.sites.frames import Frame
    from simalloc.policy import AnyPolicy
    from simalloc.trace import EventSource, Trace

TRIED_EVENTS: Final = 2_000_000
"""How much of a trace is replayed in two heaps, at first."""

_TRIED: Final = 2
"""Functions that are tried, for each that is proposed: what pins most need not save most."""


@dataclass(frozen=True)
class Proposal:
    """A function whose objects could have an arena or a pool of their own, and what that saves.

    `events` is how many of the trace's were replayed to know it; `of_events` is all that it has.
    """

    frame: Frame
    apart: Apart
    events: int
    of_events: int


def best_apart(
    source: EventSource,
    policy: AnyPolicy,
    *,
    most: int = 3,
    events: int = TRIED_EVENTS,
    page: int = 4096,
    wrappers: Sequence[str] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> list[Proposal]:
    """Return the functions whose objects had best a heap of their own; those that save most first.

    At most `most` of them, none that saves nothing; and none at all if the trace does not say where
    its calls are. Of the functions that pin most of the heap under `policy` twice as many are
    tried, each by a replay in two heaps. Only the first `events` of the trace are replayed, and
    each proposal says how many those are; so it takes some 3 + 2 × `most` replays of these.
    `progress` is called with the number of events done since its last call, of at most
    `events_of_best_apart`. `wrappers` are patterns of more functions that allocate for others.
    Raises as `simulate` does, and `SimallocError` for a policy that is not replayed event by event.
    """
    trace = source.prefix(events) if len(source) > events else source.in_memory()
    if trace.site is None or not len(trace):
        return []
    held = held_under(trace, policy, page=page, progress=progress)
    functions = _functions(trace, held.pinned_bytes + held.shared_bytes, wrappers)
    parting = Parting(trace, policy, progress)
    found = [
        Proposal(frame, parting.apart(sites), len(trace), len(source))
        for frame, sites in functions[: _TRIED * most]
    ]
    found.sort(key=lambda one: -one.apart.saved)
    return [one for one in found[:most] if one.apart.saved > 0]


def events_of_best_apart(source: EventSource, most: int = 3, events: int = TRIED_EVENTS) -> int:
    """Return how many events `best_apart` replays at most."""
    return min(len(source), events) * (3 + _TRIED * most)


def _functions(
    trace: Trace, holds: NDArray[np.float64], wrappers: Sequence[str]
) -> list[tuple[Frame, tuple[int, ...]]]:
    """Return functions with their sites, those first that hold most; none that holds nothing."""
    sites: dict[str, list[int]] = {}
    frames: dict[str, Frame] = {}
    for site in (holds > 0).nonzero()[0].tolist():
        if site:  # the unknown is nobody's
            frame = guilty_frame(frames_of(site_name(trace.provenance, site)), wrappers)
            sites.setdefault(frame.function, []).append(site)
            frames.setdefault(frame.function, frame)
    order = sorted(sites, key=lambda name: -holds[sites[name]].sum())
    return [(frames[name], tuple(sites[name])) for name in order]
