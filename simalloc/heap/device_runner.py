"""Replaying a trace under a device allocator."""

from __future__ import annotations

import math
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING

from simalloc.heap.device_core import replay_in_core
from simalloc.heap.run import Counters
from simalloc.heap.states import event_of_most, mean, run_of_states
from simalloc.machine import core_count
from simalloc.policy.device import Device
from simalloc.waiting import completed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simalloc.heap._core import Simulation
    from simalloc.heap.device_figures import DeviceReplay
    from simalloc.heap.run import Run
    from simalloc.heap.setting import Setting
    from simalloc.trace.trace import Trace


def run_one(
    setting: Setting,
    *,
    addresses: bool = False,
    engine: str = "core",
    checked: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Replay a trace under a device allocator, up to the first request that cannot be served.

    The whole trace is held in memory.
    """
    trace, description = setting.source.in_memory(), setting.policy.description
    assert isinstance(description, Device)
    started = time.perf_counter()
    rule = setting.realloc
    if engine == "reference":
        from simalloc.heap.reference.device import replay_device  # noqa: PLC0415 - rarely needed

        replay = replay_device(trace, description, realloc=rule, check=checked)
    else:
        replay = replay_in_core(trace, description, rule, checked=checked, progress=progress)
    if progress is not None:
        progress(len(trace) - (0 if engine == "reference" else len(replay.live)))
    seconds = time.perf_counter() - started
    return device_run(setting, trace, replay, seconds, addresses=addresses)


def run_all(
    settings: Sequence[Setting],
    *,
    addresses: bool = False,
    progress: Callable[[int], None] | None = None,
) -> list[Run]:
    """Replay a trace under several device allocators on all cores; Ctrl-C stops them in a stride.

    The whole trace is held in memory, once.
    """
    trace = settings[0].source.in_memory()
    settings = [replace(each, source=trace) for each in settings]
    stopped = Event()

    def advanced(events: int) -> None:
        if stopped.is_set():
            raise CancelledError
        if progress is not None:
            progress(events)

    pool = ThreadPoolExecutor(min(core_count(), len(settings)))
    try:  # Ctrl-C may come while a thread begins
        runs = [
            pool.submit(run_one, each, addresses=addresses, progress=advanced) for each in settings
        ]
        for run in completed(runs):
            run.result()  # an error stops the others too
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)
    return [run.result() for run in runs]


def heap_of(setting: Setting) -> Simulation:
    """Raise `PolicyError`: a device has no heap that could be looked at."""
    return setting.simulation()


def device_run(
    setting: Setting, trace: Trace, replay: DeviceReplay, seconds: float, *, addresses: bool
) -> Run:
    """Put a replay together as a run; what is reserved is the heap."""
    return run_of_states(
        trace,
        setting.policy,
        scale=setting.scale,
        realloc=setting.realloc,
        live=replay.live,
        scaled_heap=replay.heap,
        counters=_counters(replay),
        addresses=replay.addresses if addresses else None,
        seconds=seconds,
        device=replay.figures,
    )


def _counters(replay: DeviceReplay) -> Counters:
    """Return what was counted."""
    live, heap, allocated = (
        int(series[event_of_most(replay.heap)]) if len(series) else 0
        for series in (replay.live, replay.heap, replay.allocated)
    )
    return Counters(
        growths=replay.figures.device_alloc,
        splits=replay.splits,
        coalescings=replay.coalescings,
        free_blocks_mean=mean(replay.free_blocks),
        free_blocks_peak=int(replay.free_blocks.max(initial=0)),
        visited_mean=math.nan,  # trees are searched: no list is walked
        visited_worst=0,
        visited_at_free_mean=math.nan,
        visited_at_free_worst=0,
        coalescing_frees=replay.coalescing_frees,
        internal_bytes_at_peak_heap=float(allocated - live),
        external_bytes_at_peak_heap=float(heap - allocated),
    )
