"""Replay of a trace by a simulation of the core, one stride at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.heap._core import Simulation
from simalloc.heap.device_figures import figures_of
from simalloc.heap.footprint import Footprint, Timeline
from simalloc.heap.run import Costs, Counters, Refusals, Run
from simalloc.heap.running.replayed_columns import replayed_parts
from simalloc.heap.running.setting import Setting
from simalloc.policy import Policy
from simalloc.trace import EventSource, ReplayedEvents
from simalloc.trace.at_start import live_at_start

STRIDE: Final = 1 << 18
"""Number of events between two checks for progress and Ctrl-C, which take a few milliseconds."""
STEPS: Final = (16, 2048)
"""Minimum and maximum events of a step of slow policies, which are written in Python or use a tree
that is never balanced. With these policies, a later event may take as long as a million earlier
ones."""
PATIENCE: Final = 0.1
"""Target duration in seconds of a step of a slow policy."""


def replay_all(
    simulation: Simulation,
    setting: Setting,
    addresses: NDArray[np.int64] | None = None,
    progress: Callable[[int], None] | None = None,
) -> float:
    """Replay all events, or those until the program ends; return the duration in seconds.

    `addresses`, if given, receives the objects' addresses. `progress` is called with the number of
    events since its last call.
    """
    done, seconds = 0, 0.0
    with closing(strides(setting.source, setting.columns, setting.policy)) as events:
        for stride in events:
            reached = done + len(stride.op)
            started = time.perf_counter()
            replay(simulation, stride, None if addresses is None else addresses[done:reached])
            seconds += time.perf_counter() - started
            done = reached
            if progress is not None:
                progress(len(stride.op))
    return seconds


def strides(
    source: EventSource, columns: Collection[str], policy: Policy | None = None
) -> Generator[ReplayedEvents]:
    """Yield the events of a trace, at most `STRIDE` at a time, or fewer for a slow policy.

    The events have the named optional columns.
    """
    with closing(replayed_parts(source, columns)) as parts:
        for part in parts:
            yield from parts_of(part, policy)


def parts_of(events: ReplayedEvents, policy: Policy | None = None) -> Generator[ReplayedEvents]:
    """Yield the events in parts of the size that a policy requires."""
    if policy is not None and policy.description.is_slow:
        yield from steps_of(events)
        return
    for start in range(0, len(events.op), STRIDE):
        yield events.part(start, start + STRIDE)


def steps_of(events: ReplayedEvents) -> Generator[ReplayedEvents]:
    """Yield the events in steps, whose length falls or rises with the time of the latest step.

    A step becomes longer only at a multiple of the new length, because a replay is fastest at
    multiples of 256.
    """
    least, most = STEPS
    start, length = 0, least
    while start < len(events.op):
        began = time.perf_counter()
        yield events.part(start, start + length)
        took = time.perf_counter() - began
        start += length
        if took > PATIENCE:
            length = max(length // 2, least)
        elif took < PATIENCE / 4 and start % (2 * length) == 0:
            length = min(2 * length, most)


def replay(
    simulation: Simulation,
    events: ReplayedEvents,
    address: NDArray[np.int64] | None = None,
    sight: Mapping[str, NDArray[Any]] | None = None,
) -> int:
    """Replay a run of events, or raise `SimallocError` with the event that failed.

    Returns the number of replayed events, which is lower if a refused request ends the program.
    `address` and the columns of `sight`, if given, receive the objects' addresses and the states.
    """
    op, size, slot, live, spans, optional = events
    given = {name: values for name, values in optional.items() if values.any()}  # quicker without
    columns = {**given, "address": address, **(sight or {})}
    done, failure = simulation.replay(op, size, slot, live, spans, columns)
    if failure is not None:
        event = int(simulation.figures()["events"])
        raise SimallocError(f"event {event} (of {int(events.size[done])} bytes): {failure}")
    return done


def run_of(
    simulation: Simulation,
    setting: Setting,
    *,
    addresses: NDArray[np.int64] | None = None,
    seconds: float = 0.0,
) -> Run:
    """Return the measures of a simulation so far, in program bytes.

    If an allocator gets no memory for its own tables, the run ends before an event. The simulation
    has then replayed a part of that event, so the counters come from a second simulation that stops
    before it.
    """
    figures = simulation.figures()
    events, scale = int(figures["events"]), setting.scale
    refusals = _refusals(figures, scale)
    if refusals.stopped and (setting.options.goes_on or refusals.first_refused_event > events):
        simulation = _replayed_to(setting, events)
        figures = simulation.figures()
        if refusals.first_refused_event > events:
            refusals = replace(refusals, largest_free_bytes=simulation.largest_free() / scale)
    mapped = figures["mapped"]
    others = [_footprint(each, figures, scale) for each in figures["series"]]
    allocated_then, live_then = mapped["allocated_at_peak"], mapped["live_at_peak"]
    return Run(
        trace=setting.source.name,
        policy=setting.policy,
        options=setting.options,
        events=events,
        objects=setting.source.objects,
        max_live_bytes=int(figures["max_live"]),
        final_live_bytes=int(figures["live"]),
        mapped=_footprint(mapped, figures, scale),
        threads=setting.source.threads,
        replayed_threads=setting.replayed_threads,
        resident=others.pop(0) if setting.options.resident else None,
        largest_free=others.pop() if setting.options.largest_free else None,
        occupied=dict(zip(setting.options.occupied, others, strict=True)),
        counters=Counters(
            growths=int(figures["growths"]),
            splits=int(figures["splits"]),
            coalescings=int(figures["coalescings"]),
            free_blocks_mean=_quotient(figures["sum_of_free_blocks"], events),
            free_blocks_peak=int(figures["peak_free_blocks"]),
            visited_mean=_quotient(figures["visited"], figures["searches"]),
            visited_worst=int(figures["visited_worst"]),
            visited_at_free_mean=figures["visited_at_free"] / max(figures["deallocations"], 1),
            visited_at_free_worst=int(figures["visited_at_free_worst"]),
            coalescing_frees=int(figures["coalescing_frees"]),
            internal_bytes_at_peak_heap=(allocated_then - live_then * scale) / scale,
            external_bytes_at_peak_heap=(mapped["peak"] - allocated_then) / scale,
        ),
        addresses=None if addresses is None else addresses[:events],
        seconds=seconds,
        device=figures_of(simulation, setting.policy.description),
        costs=Costs(figures["system_calls"], figures["faults"]),
        refusals=refusals,
        live_at_start=live_at_start(setting.source.provenance),
    )


def _refusals(figures: dict[str, Any], scale: int) -> Refusals:
    return Refusals(
        figures["refused"],
        figures["first_refused"],
        figures["largest_free_when_refused"] / scale,
        stopped=bool(figures["is_over"]),
    )


def _replayed_to(setting: Setting, events: int) -> Simulation:
    """Return a new simulation after the first `events` events of a trace."""
    simulation = setting.simulation()
    done = 0
    with closing(strides(setting.source, setting.columns, setting.policy)) as parts:
        while done < events:
            done += replay(simulation, next(parts).part(0, events - done))
    return simulation


def _footprint(of: dict[str, Any], figures: dict[str, Any], scale: int) -> Footprint:
    """Return one footprint of a simulation with these figures."""
    extremes = np.frombuffer(of["intervals"], np.uint64).reshape(-1, 4).astype(np.float64)
    return Footprint(
        peak_bytes=of["peak"] / scale,
        peak_event=int(of["event_of_peak"]),
        live_bytes_at_peak=int(of["live_at_peak"]),
        bytes_at_max_live=of["at_max_live"] / scale,
        min_event=int(of["event_of_lowest"]),
        final_bytes=of["final"] / scale,
        mean_bytes=_quotient(of["sum"], figures["events"]),
        mean_to_live=_quotient(of["sum_of_ratios"], figures["events_with_live"]),
        mean_to_live_by_bytes=_quotient(of["sum_of_ratios_by_bytes"], figures["allocated_bytes"]),
        timeline=Timeline(
            interval=of["interval"],
            live_low=extremes[:, 0],
            live_high=extremes[:, 1],
            heap_low=extremes[:, 2] / scale,
            heap_high=extremes[:, 3] / scale,
        ),
    )


def _quotient(total: float, count: float) -> float:
    return total / count if count else math.nan
