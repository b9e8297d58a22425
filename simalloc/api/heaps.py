"""The inside of a heap: its map, the objects that pin it, and checks."""

from __future__ import annotations

from typing import Unpack

from simalloc.api.simulation import simulate
from simalloc.api.traces import Source, open_source
from simalloc.arguments import SPAN, WINDOW, checked, optional, whole
from simalloc.errors import SimallocError
from simalloc.heap import Checked
from simalloc.heap import check as check_of
from simalloc.heap.quantity import Quantity, keywords
from simalloc.heap.run_options import RunKeywords
from simalloc.heap.watch.steps import Steps, take_steps
from simalloc.measure import HeapMap, Pins, Waste
from simalloc.measure import heap_map as map_of
from simalloc.measure import pins as pins_of
from simalloc.measure import waste as waste_of
from simalloc.measure.heap_map import COLUMNS, ROWS
from simalloc.policy import AnyPolicy
from simalloc.progress import progress as any_progress
from simalloc.trace import Trace, TraceFile


@checked(events=optional(WINDOW), addresses=optional(WINDOW), columns=whole(1), rows=whole(1))
def heap_map(
    trace: Source,
    policy: AnyPolicy,
    *,
    events: tuple[int, int] | None = None,
    addresses: tuple[float, float] | None = None,
    columns: int = COLUMNS,
    rows: int = ROWS,
    progress: bool | None = None,
    **options: Unpack[RunKeywords],
) -> HeapMap:
    """Return a map of the heap: live objects by address and time, with their age.

    `draw_heap_maps` draws several maps side by side.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    policy : str, Policy or class
        A policy such as `"first-fit-ao:growth=64K"`, or a class derived from `UserPolicy`.
    events : tuple of int, optional
        First event of the window (from 0) and one past its last event. The default is all events.
    addresses : tuple of float, optional
        Lower and upper address of the window in bytes of the program. The default is the whole
        heap.
    columns : int, default 1600
        Maximum number of cells in the direction of time.
    rows : int, default 800
        Maximum number of cells in the direction of addresses.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.
    **options
        Fields of `RunOptions`, as for `simulate`.

    Returns
    -------
    HeapMap
        Cells with the share of live bytes and their mean age. A notebook displays the map as a
        picture.

    Raises
    ------
    TraceError, PolicyError
        If the trace or the policy does not exist.
    ValueError
        If the window is outside the run.

    Examples
    --------
    >>> simalloc.heap_map("espresso", "first-fit-ao", events=(0, 100_000))
    """
    replayed = open_source(trace, progress=progress)
    run = simulate(replayed, policy, progress=progress, **options)
    return map_of(replayed, run, events=events, addresses=addresses, columns=columns, rows=rows)


@checked(event=optional(whole()), most=whole())
def pins(
    trace: Source,
    policy: AnyPolicy,
    event: int | None = None,
    *,
    most: int = 10,
    progress: bool | None = None,
    **options: Unpack[RunKeywords],
) -> Pins:
    """Return the live objects that separate free blocks, and those that keep the heap high.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    policy : str, Policy or class
        A policy such as `"first-fit-ao:growth=64K"`, or a class derived from `UserPolicy`.
    event : int, optional
        Index of the event (from 0) after which the heap is examined. The default is the first peak
        of the heap.
    most : int, default 10
        Maximum number of objects of each kind, the worst first.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.
    **options
        Fields of `RunOptions`, as for `simulate`.

    Returns
    -------
    Pins
        `alone` has the objects that separate free blocks, and `highest` the objects at the highest
        addresses. A notebook displays both as tables.

    Raises
    ------
    TraceError, PolicyError
        If the trace or the policy does not exist.
    SimallocError
        If the event does not exist.

    Examples
    --------
    >>> found = simalloc.pins("espresso", "first-fit-ao", most=3)
    >>> [pin.object for pin in found.alone]
    """
    replayed = open_source(trace, progress=progress)
    run = simulate(replayed, policy, progress=progress, **options)
    return pins_of(replayed, run, event, most=most)


@checked(event=optional(whole()))
def waste(
    trace: Source,
    policy: AnyPolicy,
    event: int | None = None,
    *,
    of: Quantity = "mapped",
    progress: bool | None = None,
    **options: Unpack[RunKeywords],
) -> Waste:
    """Return the bytes of a heap after an event, by kind: live, headers, rounding, free and more.

    `draw_waste` draws several results. Headers and tables of a policy are included with
    `"best-fit-ao:mechanism=on"`. Cached and free bytes are also split by pages of `page` bytes.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    policy : str, Policy or class
        A policy such as `"first-fit-ao:growth=64K"`, or a class derived from `UserPolicy`.
    event : int, optional
        Index of the event (from 0) after which the heap is examined. The default is the event that
        `of` selects.
    of : {"mapped", "resident", "largest-free"}, default "mapped"
        Examine the heap at the first peak of its mapped or resident bytes, or at the first event at
        which the largest free block is smallest.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.
    **options
        Fields of `RunOptions`, as for `simulate`.

    Returns
    -------
    Waste
        Bytes of the program by kind, which add up to `heap`. A notebook displays a table.

    Raises
    ------
    TraceError, PolicyError
        If the trace or the policy does not exist.
    SimallocError
        If `of` has another value, or the event does not exist.

    Examples
    --------
    >>> found = simalloc.waste("espresso", "ptmalloc", of="resident")
    >>> found.live, found.free_resident
    """
    replayed = open_source(trace, progress=progress)
    run = simulate(replayed, policy, progress=progress, **(options | keywords([of])))
    return waste_of(replayed, run, event, of=of)


@checked()
def check(
    policy: AnyPolicy,
    trace: Source,
    *,
    progress: bool | None = None,
    **options: Unpack[RunKeywords],
) -> Checked:
    """Replay a trace under a policy and verify the whole heap after each event.

    The blocks must tile the heap. The free lists must contain exactly the inserted blocks, in order
    and with their sizes. An allocated block must have been free, large enough, and on no list. A
    second replay must give the same result. A hundred thousand events take seconds
    (`trace.prefix(100_000)`).

    Parameters
    ----------
    policy : str, Policy or class
        A policy such as `"first-fit-ao:growth=64K"`, or a class derived from `UserPolicy`.
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.
    **options
        Fields of `RunOptions`, as for `simulate`.

    Returns
    -------
    Checked
        The run, and the number and bytes of free blocks that are on no list of the heap.

    Raises
    ------
    PolicyError
        If the heap is wrong. The message names the event, the fault and the policy's last actions.
    TraceError
        If the trace does not exist or is invalid.
    SimallocError
        If an option is invalid.

    Examples
    --------
    >>> simalloc.check(MyPolicy, simalloc.read_trace("espresso").prefix(100_000))
    """
    if isinstance(policy, (Trace, TraceFile)):
        raise SimallocError("check() takes the policy first, then the trace: check(policy, trace)")
    replayed = open_source(trace, progress=progress)
    with any_progress(replayed.name, len(replayed), shown=progress) as bar:
        return check_of(policy, replayed, progress=bar, **options)


@checked(events=optional(SPAN))
def step(
    trace: Source,
    policy: AnyPolicy = "first-fit-ao",
    *,
    events: tuple[int, int] | None = None,
    **options: Unpack[RunKeywords],
) -> Steps:
    """Return a small heap after each event: its blocks, and the free list in its order.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    policy : str, Policy or class, default "first-fit-ao"
        A policy of the catalogue with a reference engine, or a policy in Python.
    events : tuple of int, optional
        First and last event to show, counted from 1; at most 2,000 events. The default is all
        events.
    **options
        Fields of `RunOptions`, as for `simulate`.

    Returns
    -------
    Steps
        `steps.steps` is a tuple of `Step`, each with `event`, `text`, `blocks`, `free_list`,
        `searched` and `changes`. `print(steps)` draws the blocks as text, and
        `steps.save("steps.html")` writes `.html`, `.svg` or `.txt`. In a notebook the steps have a
        slider and a button that plays them.

    Raises
    ------
    SimallocError
        If `events` is not part of the trace or has more than 2,000 events, or if the policy has no
        reference engine.

    Examples
    --------
    >>> trace = simalloc.Trace.from_events([0, 0, 1, 0], [1, 2, 1, 3], [100, 40, 0, 24])
    >>> simalloc.step(trace, "first-fit-lifo")
    """
    first, last = events or (1, None)
    replayed = open_source(trace, progress=False)
    return take_steps(replayed, policy, first=first, last=last, **options)
