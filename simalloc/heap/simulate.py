"""Replaying a trace under a policy."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap._core import Simulation
from simalloc.heap.reference import simulate_reference
from simalloc.heap.run import Counters, Realloc, Run, Timeline
from simalloc.policy import (
    AnyPolicy,
    Family,
    Fit,
    LastRemainder,
    Order,
    Policy,
    PythonCode,
    SequentialFit,
    Series,
)
from simalloc.policy import policy as find_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from numpy.typing import NDArray

    from simalloc.trace import EventSource, Stretch

ENGINES: Final = ("core", "core-portable", "reference")

STRIDE: Final = 1 << 18
"""Events carried out between two looks at progress and Ctrl-C: a few milliseconds."""
OWN_STRIDE: Final = 1 << 14
"""The same if a policy is in Python, which may take its time."""

# How the core numbers the choices (heap/core/mechanism.h and replay.h).
_NUMBERS: Final[dict[Enum, int]] = {
    choice: number
    for choices in (
        (Fit.FIRST, Fit.NEXT, Fit.BEST),
        (Order.LIFO, Order.FIFO, Order.ADDRESS),
        (Series.POWERS, Series.POWERS_AND_THREES),
        (LastRemainder.NONE, LastRemainder.SMALL, LastRemainder.ANY),
        (Realloc.FREE_FIRST, Realloc.MOVE, Realloc.IN_PLACE),
    )
    for number, choice in enumerate(choices)
}


def simulate(
    source: EventSource,
    policy: AnyPolicy,
    *,
    scale: int = 16,
    realloc: Realloc | str = Realloc.FREE_FIRST,
    engine: str = "core",
    addresses: bool = False,
    checked: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Replay a trace under a policy and return what came out.

    `source` is a `Trace`, or a `TraceFile`, which is read as it is replayed and may be of any
    length. `policy` may be text such as `first-fit-ao:growth=64K`, or one of one's own in Python.
    Sizes are multiplied by `scale` before the policy sees them and byte figures divided by it
    afterwards. `realloc` says what a realloc does (`free-first`, `move` or `in-place`). `engine` is
    `core`, in C, `core-portable`, in C without vector code, or `reference`, in plain Python, which
    takes the whole trace into memory; all give the same answer. With `addresses` the run keeps
    every object's address; with `checked` the whole heap is verified after each event, slowly.
    `progress` is called with the number of events done.

    Raises `PolicyError` for a policy that does not exist or whose Python code fails, `TraceError`
    for a file that is damaged, `SimallocError` if the heap outgrows its address space of 2**62
    bytes or memory runs out.
    """
    described = find_policy(policy)
    rule = Realloc(realloc)
    check_scale(scale)
    if engine == "reference":
        return simulate_reference(
            source.in_memory(), described, scale=scale, realloc=rule, check=checked
        )
    if engine not in ENGINES:
        raise ValueError(f"engine is {engine!r}; it takes one of {', '.join(ENGINES)}")
    portable = engine == "core-portable"
    simulation = new_simulation(
        described,
        scale=scale,
        realloc=rule,
        checked=checked,
        portable=portable,
        source=source,
    )
    placed = np.empty(len(source), np.int64) if addresses else None
    done, seconds = 0, 0.0
    with closing(strides(source, described)) as events:
        for stride in events:
            reached = done + len(stride.op)
            started = time.perf_counter()
            replay(simulation, *stride, None if placed is None else placed[done:reached])
            seconds += time.perf_counter() - started
            done = reached
            if progress is not None:
                progress(done)
    return run_of(
        simulation,
        trace=source.name,
        objects=source.objects,
        policy=described,
        scale=scale,
        realloc=rule,
        addresses=placed,
        seconds=seconds,
    )


def strides(source: EventSource, policy: Policy | None = None) -> Generator[Stretch]:
    """Yield the events of a trace, at most `STRIDE` at a time, or as many as a policy may take."""
    with closing(source.stretches()) as stretches:
        for stretch in stretches:
            yield from parts_of(stretch, STRIDE if policy is None else stride_of(policy))


def stride_of(policy: Policy) -> int:
    """Return how many events are carried out between two looks at progress and Ctrl-C."""
    return OWN_STRIDE if isinstance(policy.description, PythonCode) else STRIDE


def parts_of(stretch: Stretch, length: int) -> Generator[Stretch]:
    """Yield the events of a stretch, at most `length` at a time."""
    for start in range(0, len(stretch.op), length):
        yield stretch.part(start, start + length)


def check_scale(scale: int) -> None:
    """Raise `SimallocError` unless sizes can be scaled by `scale`."""
    if not 1 <= scale <= 4096:
        raise SimallocError(f"scale is {scale}; it takes a whole number from 1 to 4096")


def new_simulation(
    policy: Policy,
    *,
    scale: int,
    realloc: Realloc,
    checked: bool = False,
    portable: bool = False,
    source: EventSource | None = None,
) -> Simulation:
    """Return an empty heap of the C core under a policy; `portable` renounces vector code.

    `source` is what a policy in Python is told of the events to come.
    """
    if isinstance(policy.description, PythonCode):
        own = policy.description.decider(source)
        return Simulation("python", scale, _NUMBERS[realloc], checked, portable, policy=own)
    parts: dict[str, Any] = {
        part.name: _NUMBERS[value] if isinstance(value, Enum) else value
        for part in fields(policy.description)
        for value in [getattr(policy.description, part.name)]
    }
    return Simulation(
        _mechanism(policy.description), scale, _NUMBERS[realloc], checked, portable, **parts
    )


def _mechanism(description: Family) -> str:
    """Return the core's name for what carries a description out."""
    if isinstance(description, SequentialFit):
        return "best fit" if description.fit is Fit.BEST else "list fit"
    return description.family


def replay(
    simulation: Simulation,
    op: NDArray[np.uint8],
    size: NDArray[np.int64],
    slot: NDArray[np.uint32],
    address: NDArray[np.int64] | None = None,
) -> None:
    """Carry out a run of events, or raise `SimallocError` naming the one that could not be."""
    done, failure = simulation.replay(op, size, slot, address)
    if failure is not None:
        event = int(simulation.figures()["events"])
        raise SimallocError(f"event {event} (of {int(size[done])} bytes): {failure}")


def run_of(
    simulation: Simulation,
    *,
    trace: str,
    objects: int,
    policy: Policy,
    scale: int,
    realloc: Realloc,
    addresses: NDArray[np.int64] | None = None,
    seconds: float = 0.0,
) -> Run:
    """Return what a simulation has measured so far, in bytes of the program."""
    figures = simulation.figures()
    events = int(figures["events"])
    heap_then = figures["peak_heap"]
    allocated_then = figures["allocated_at_peak_heap"]
    live_then = figures["live_at_peak_heap"]
    return Run(
        trace=trace,
        policy=policy,
        scale=scale,
        realloc=realloc,
        events=events,
        objects=objects,
        peak_heap_bytes=heap_then / scale,
        final_heap_bytes=figures["heap"] / scale,
        max_live_bytes=int(figures["max_live"]),
        final_live_bytes=int(figures["live"]),
        live_bytes_at_peak_heap=int(live_then),
        heap_bytes_at_max_live=figures["heap_at_max_live"] / scale,
        mean_heap_to_live=_quotient(figures["sum_of_ratios"], figures["events_with_live"]),
        mean_heap_to_live_by_bytes=_quotient(
            figures["sum_of_ratios_by_bytes"], figures["allocated_bytes"]
        ),
        counters=Counters(
            growths=int(figures["growths"]),
            splits=int(figures["splits"]),
            coalescings=int(figures["coalescings"]),
            free_blocks_mean=_quotient(figures["sum_of_free_blocks"], events),
            free_blocks_peak=int(figures["peak_free_blocks"]),
            visited_mean=_quotient(figures["visited"], figures["searches"]),
            visited_worst=int(figures["visited_worst"]),
            internal_bytes_at_peak_heap=(allocated_then - live_then * scale) / scale,
            external_bytes_at_peak_heap=(heap_then - allocated_then) / scale,
        ),
        timeline=_timeline(simulation, scale),
        addresses=addresses,
        seconds=seconds,
    )


def _quotient(total: float, count: float) -> float:
    return total / count if count else float("nan")


def _timeline(simulation: Simulation, scale: int) -> Timeline:
    interval, packed = simulation.timeline()
    extremes = np.frombuffer(packed, np.uint64).reshape(-1, 4).astype(np.float64)
    return Timeline(
        interval=interval,
        live_low=extremes[:, 0],
        live_high=extremes[:, 1],
        heap_low=extremes[:, 2] / scale,
        heap_high=extremes[:, 3] / scale,
    )
