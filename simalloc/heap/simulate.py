"""Replaying a trace under a policy."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap.device import simulate_device
from simalloc.heap.offline import simulate_offline
from simalloc.heap.run import Counters, Realloc, Run, Timeline
from simalloc.heap.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from numpy.typing import NDArray

    from simalloc.heap._core import Simulation
    from simalloc.policy import AnyPolicy, Policy
    from simalloc.trace import EventSource, Stretch

ENGINES: Final = ("core", "core-portable", "reference")

STRIDE: Final = 1 << 18
"""Events carried out between two looks at progress and Ctrl-C: a few milliseconds."""
STEPS: Final = (16, 2048)
"""The fewest and the most at a time if an event may take long: in Python, or in a tree that is
never balanced, a later one may take as long as a million others."""
PATIENCE: Final = 0.1
"""Seconds that a step should take in that case."""


def simulate(
    source: EventSource,
    policy: AnyPolicy,
    *,
    scale: int = 16,
    realloc: Realloc | str | None = None,
    engine: str = "core",
    addresses: bool = False,
    checked: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Replay a trace under a policy and return what came out.

    `source` is a `Trace`, or a `TraceFile`, which is read as it is replayed and may be of any
    length. `policy` may be text such as `first-fit-ao:growth=64K`, or one of one's own in Python.
    Sizes are multiplied by `scale` before the policy sees them and byte figures divided by it
    afterwards. `realloc` says what a realloc does (`free-first`, `move` or `in-place`; None: in
    place if the policy's mechanism is on, else free-first). `engine` is `core`, in C,
    `core-portable`, in C without vector code, or `reference`, in plain Python, which takes the
    whole trace into memory; all give the same answer. With `addresses` the run keeps every object's
    address; with `checked` the whole heap is verified after each event, slowly. `progress` is
    called with the number of events done since its last call.

    Raises `PolicyError` for a policy that does not exist or whose Python code fails, `TraceError`
    for a file that is damaged, `SimallocError` if the heap outgrows its address space of 2**62
    bytes or memory runs out.
    """
    setting = Setting.of(source, policy, scale, realloc)
    if engine not in ENGINES:
        raise ValueError(f"engine is {engine!r}; it takes one of {', '.join(ENGINES)}")
    if setting.is_device:
        return simulate_device(
            setting,
            engine=engine,
            addresses=addresses,
            checked=checked,
            progress=progress,
        )
    if setting.is_offline:
        return simulate_offline(
            setting, engine=engine, addresses=addresses or engine == "reference", progress=progress
        )
    if engine == "reference":
        from simalloc.heap.reference import simulate_reference  # noqa: PLC0415 - rarely needed

        return simulate_reference(
            source.in_memory(),
            setting.policy,
            scale=scale,
            realloc=setting.realloc,
            check=checked,
        )
    simulation = setting.simulation(checked=checked, portable=engine == "core-portable")
    placed = np.empty(len(source), np.int64) if addresses else None
    seconds = replay_all(simulation, setting, placed, progress)
    return run_of(simulation, setting, addresses=placed, seconds=seconds)


def replay_all(
    simulation: Simulation,
    setting: Setting,
    addresses: NDArray[np.int64] | None = None,
    progress: Callable[[int], None] | None = None,
) -> float:
    """Carry out all events and return the seconds that took.

    `addresses`, if given, is filled with the objects'. `progress` is called with the number of
    events done since its last call.
    """
    done, seconds = 0, 0.0
    with closing(strides(setting.source, setting.policy)) as events:
        for stride in events:
            reached = done + len(stride.op)
            started = time.perf_counter()
            replay(simulation, stride, None if addresses is None else addresses[done:reached])
            seconds += time.perf_counter() - started
            done = reached
            if progress is not None:
                progress(len(stride.op))
    return seconds


def strides(source: EventSource, policy: Policy | None = None) -> Generator[Stretch]:
    """Yield the events of a trace, at most `STRIDE` at a time, or as many as a policy may take."""
    with closing(source.stretches()) as stretches:
        for stretch in stretches:
            yield from parts_of(stretch, policy)


def parts_of(stretch: Stretch, policy: Policy | None = None) -> Generator[Stretch]:
    """Yield the events of a stretch, as many at a time as a policy may take."""
    if policy is not None and policy.description.is_slow:
        yield from steps_of(stretch)
        return
    for start in range(0, len(stretch.op), STRIDE):
        yield stretch.part(start, start + STRIDE)


def steps_of(stretch: Stretch) -> Generator[Stretch]:
    """Yield the events of a stretch, fewer at a time the longer the last ones have taken.

    A step that is not shortened begins at a multiple of its length: a replay is quicker at
    multiples of 256.
    """
    least, most = STEPS
    start, length = 0, least
    while start < len(stretch.op):
        began = time.perf_counter()
        yield stretch.part(start, start + length)
        took = time.perf_counter() - began
        start += length
        if took > PATIENCE:
            length = max(length // 2, least)
        elif took < PATIENCE / 4 and start % (2 * length) == 0:
            length = min(2 * length, most)


def replay(
    simulation: Simulation, events: Stretch, address: NDArray[np.int64] | None = None
) -> None:
    """Carry out a run of events, or raise `SimallocError` naming the one that could not be.

    `address`, if given, is filled with the objects'.
    """
    done, failure = simulation.replay(*events, address)
    if failure is not None:
        event = int(simulation.figures()["events"])
        raise SimallocError(f"event {event} (of {int(events.size[done])} bytes): {failure}")


def run_of(
    simulation: Simulation,
    setting: Setting,
    *,
    addresses: NDArray[np.int64] | None = None,
    seconds: float = 0.0,
) -> Run:
    """Return what a simulation has measured so far, in bytes of the program."""
    figures = simulation.figures()
    events, scale = int(figures["events"]), setting.scale
    heap_then = figures["peak_heap"]
    allocated_then = figures["allocated_at_peak_heap"]
    live_then = figures["live_at_peak_heap"]
    return Run(
        trace=setting.source.name,
        policy=setting.policy,
        scale=scale,
        realloc=setting.realloc,
        events=events,
        objects=setting.source.objects,
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
            visited_at_free_mean=figures["visited_at_free"] / max(figures["deallocations"], 1),
            visited_at_free_worst=int(figures["visited_at_free_worst"]),
            coalescing_frees=int(figures["coalescing_frees"]),
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
