"""Looking into a heap: its map, what pins it, and whether it is right."""

from __future__ import annotations

from typing import Unpack

from simalloc.api.simulation import simulate
from simalloc.api.traces import Source, open_source
from simalloc.heap import Checked
from simalloc.heap import check as check_of
from simalloc.heap.run_options import RunKeywords
from simalloc.heap.watch.steps import Steps, take_steps
from simalloc.measure import HeapMap, Pins, Waste
from simalloc.measure import heap_map as map_of
from simalloc.measure import pins as pins_of
from simalloc.measure import waste as waste_of
from simalloc.measure.heap_map import COLUMNS, ROWS
from simalloc.policy import AnyPolicy
from simalloc.progress import progress as any_progress


def heap_map(
    trace: Source,
    policy: AnyPolicy,
    *,
    events: tuple[int, int] | None = None,
    addresses: tuple[float, float] | None = None,
    columns: int = COLUMNS,
    rows: int = ROWS,
    progress: bool | None = None,
    **given: Unpack[RunKeywords],
) -> HeapMap:
    """Return what is live, where and since when: time across, addresses up.

    `events` (the first, and one past the last) and `addresses` (in bytes of the program) cut a
    window out. There are at most `columns` times `rows` cells. In a notebook it is a picture;
    `draw_heap_maps` puts several side by side.
    """
    replayed = open_source(trace, progress=progress)
    run = simulate(replayed, policy, progress=progress, **given)
    return map_of(replayed, run, events=events, addresses=addresses, columns=columns, rows=rows)


def pins(
    trace: Source,
    policy: AnyPolicy,
    event: int | None = None,
    *,
    most: int = 10,
    progress: bool | None = None,
    **given: Unpack[RunKeywords],
) -> Pins:
    """Return the live objects that keep free memory apart, and those that keep the heap high.

    They are those after an event; without one, when the heap first has its peak. At most `most` of
    either are named, the worst first.
    """
    replayed = open_source(trace, progress=progress)
    run = simulate(replayed, policy, progress=progress, **given)
    return pins_of(replayed, run, event, most=most)


def waste(
    trace: Source,
    policy: AnyPolicy,
    event: int | None = None,
    *,
    progress: bool | None = None,
    **given: Unpack[RunKeywords],
) -> Waste:
    """Return where the bytes of a heap are after an event: live, headers, rounding, free and so on.

    Without an event it is the one at which the heap first has its peak. `draw_waste` draws several.
    A policy's own headers and tables are switched on as in `"best-fit-ao:mechanism=on"`. Cached and
    free bytes are also split by pages, of `page` bytes. Other arguments are those of `simulate`.
    """
    replayed = open_source(trace, progress=progress)
    run = simulate(replayed, policy, progress=progress, **given)
    return waste_of(replayed, run, event)


def check(
    policy: AnyPolicy,
    trace: Source,
    *,
    progress: bool | None = None,
    **given: Unpack[RunKeywords],
) -> Checked:
    """Replay a trace under a policy and verify the whole heap after each event.

    Blocks have to tile the heap; the lists have to hold exactly the blocks that were inserted, in
    order and with their sizes; a block that is given out has to be free, large enough and on no
    list. Then the trace is replayed once more, and has to come out the same. This takes seconds for
    a hundred thousand events (`trace.prefix(100_000)`). `progress` shows a bar; None: in notebooks
    only.

    Raises `PolicyError`, which names the event, what is wrong and what the policy did in it, and
    whatever `simulate` raises.
    """
    replayed = open_source(trace, progress=progress)
    with any_progress(replayed.name, len(replayed), shown=progress) as bar:
        return check_of(policy, replayed, progress=bar, **given)


def step(
    trace: Source,
    policy: AnyPolicy = "first-fit-ao",
    *,
    events: tuple[int, int] | None = None,
    **given: Unpack[RunKeywords],
) -> Steps:
    """Return a small heap after each event: its blocks, and the free list in its order.

    In a notebook the steps have a slider and a button that plays them.

    Parameters
    ----------
    trace : Trace, str or path
        A trace, its name or its path.
    policy : str, Policy or class
        A policy of the catalogue with a reference engine, or one in Python.
    events : tuple of int, optional
        The first and the last event to show, counted from 1; at most 2,000. All by default.
    scale, realloc, ...
        Fields of `RunOptions`, as for `simulate`.

    Returns
    -------
    Steps
        `steps.steps` is a tuple of `Step`, each with `event`, `text`, `blocks`, `free_list`,
        `searched` and `changes`. `print(steps)` draws the blocks as text, and
        `steps.save("steps.html")` writes `.html`, `.svg` or `.txt`.

    Raises
    ------
    SimallocError
        If there are no such events or too many, or if the policy has no reference engine.

    Examples
    --------
    >>> trace = simalloc.Trace.from_events([0, 0, 1, 0], [1, 2, 1, 3], [100, 40, 0, 24])
    >>> simalloc.step(trace, "first-fit-lifo")

    """
    first, last = events or (1, None)
    replayed = open_source(trace, progress=False)
    return take_steps(replayed, policy, first=first, last=last, **given)
