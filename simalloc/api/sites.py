"""Memory by call site: requests, and the objects that pin the heap."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from simalloc.api.traces import Source, read_trace
from simalloc.arguments import TEXT, TEXTS, checked, one_of, optional, whole
from simalloc.heap.quantity import Quantity, quantity
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

_AT: Final = one_of("worst", "peak", "end")


@checked(at=_AT, page=whole(), wrappers=optional(TEXTS))
def sites(
    trace: Source,
    policy: AnyPolicy | None = None,
    *,
    at: At = "worst",
    of: Quantity = "mapped",
    page: int = 4096,
    wrappers: Sequence[str] | None = (),
    progress: bool | None = None,
) -> Profile:
    """Return requests by call site and, under a policy, the sites that pin the heap.

    docs/sites.md defines the measures.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    policy : str, Policy or class, optional
        A policy to replay the trace under. Without a policy only the requests are measured.
    at : {"worst", "peak", "end"}, default "worst"
        Moment at which the heap is examined: largest waste, peak, or end of trace.
    of : {"mapped", "resident", "largest-free"}, default "mapped"
        Quantity whose peak is examined. For `largest-free`, the event at which the largest free
        block is smallest.
    page : int, default 4096
        Page size in bytes.
    wrappers : sequence of str, optional
        Regular expressions of allocation wrappers, in addition to the known ones. None charges
        wrappers themselves, not their callers.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    Profile
        Call paths with their measures: bytes, and numbers of allocations. A notebook displays a
        table.

    Raises
    ------
    SimallocError
        If the trace has no call sites, or if it is a sample and a policy is given.

    Examples
    --------
    >>> simalloc.sites("app.npz", "ptmalloc", at="peak")
    """
    replayed = read_trace(trace, progress=progress)
    events = 2 * len(replayed) if policy is not None else 0
    with any_progress(replayed.name, events, shown=progress) as bar:
        return profile_of(
            replayed, policy, at=at, of=quantity(of), page=page, wrappers=wrappers, progress=bar
        )


@checked(at=_AT, page=whole(), wrappers=optional(TEXTS))
def draw_flame_graph(
    trace: Source,
    *policies: AnyPolicy,
    at: At = "worst",
    of: Quantity = "mapped",
    page: int = 4096,
    wrappers: Sequence[str] | None = (),
    progress: bool | None = None,
) -> FlameGraph:
    """Return a flame graph of call paths, in which the width of a box is its share of the bytes.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    *policies : str, Policy or class
        Policies to replay the trace under, for the bytes that each call path pins.
    at : {"worst", "peak", "end"}, default "worst"
        Moment at which the heap is examined: largest waste, peak, or end of trace.
    of : {"mapped", "resident", "largest-free"}, default "mapped"
        Quantity whose peak is examined. For `largest-free`, the event at which the largest free
        block is smallest.
    page : int, default 4096
        Page size in bytes.
    wrappers : sequence of str, optional
        Regular expressions of allocation wrappers, in addition to the known ones. None charges
        wrappers themselves, not their callers.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    FlameGraph
        In a notebook the graph zooms, searches, and can be coloured by pinned, live or wasted
        bytes. `FlameGraph.save` writes a self-contained page.

    Raises
    ------
    SimallocError
        If the trace has no call sites.

    Examples
    --------
    >>> simalloc.draw_flame_graph("app.npz", "ptmalloc").save("app.html")
    """
    from simalloc.report.flame_graph import FlameGraph  # noqa: PLC0415 - needs an extra

    replayed = read_trace(trace, progress=progress)
    profile = partial(
        sites, replayed, at=at, of=of, page=page, wrappers=wrappers, progress=progress
    )
    profiles = {spell(find_policy(one)): profile(one) for one in policies}
    return FlameGraph(replayed.name, profiles or {"": profile()})


@checked(function=TEXT)
def apart(
    trace: Source, policy: AnyPolicy, function: str, *, progress: bool | None = None
) -> Apart:
    """Return the saving of a separate heap for the objects of a function.

    The trace is replayed under the policy in one heap and in two. The heaps are compared at their
    peaks and at the moment of the largest saving.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    policy : str, Policy or class
        A policy such as `"first-fit-ao:growth=64K"`, or a class derived from `UserPolicy`.
    function : str
        Name of the function whose objects get a separate heap.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    Apart
        `saved` is the saving in resident bytes. A notebook displays a table.

    Raises
    ------
    SimallocError
        If the trace has no call sites, or none in this function.

    Examples
    --------
    >>> simalloc.apart("app.npz", "ptmalloc", "parse_config")
    """
    replayed = read_trace(trace, progress=progress)
    chosen = profile_of(replayed).sites_in(function)
    with any_progress(replayed.name, 2 * len(replayed), shown=progress) as bar:
        return Parting(replayed, policy, bar).apart(chosen)


@checked(most=whole())
def best_apart(
    trace: Source, policy: AnyPolicy, *, most: int = 3, progress: bool | None = None
) -> list[Proposal]:
    """Return the functions whose objects should have a separate heap, the largest saving first.

    The search replays the first two million events about nine times.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    policy : str, Policy or class
        A policy such as `"first-fit-ao:growth=64K"`, or a class derived from `UserPolicy`.
    most : int, default 3
        Maximum number of proposals.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    list of Proposal
        Each proposal has `frames` (the functions), `apart` (the saving) and `events` (the number of
        replayed events). It saves at least 1 % of the resident bytes. The list is empty if no
        function does.

    Raises
    ------
    SimallocError
        If the trace has no call sites, or the policy is not replayed event by event.

    Examples
    --------
    >>> simalloc.best_apart("app.npz", "ptmalloc", most=1)
    """
    replayed = read_trace(trace, progress=progress)
    events = events_of_best_apart(replayed)
    with any_progress(replayed.name, events, shown=progress) as bar:
        return best_of(replayed, policy, most=most, progress=bar)
