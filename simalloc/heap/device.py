"""Replaying a trace under a device allocator."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from simalloc.heap.device_core import replay_in_core
from simalloc.heap.run import Counters, Run
from simalloc.heap.states import mean, timeline
from simalloc.machine import core_count
from simalloc.policy.device import Device

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from simalloc.heap._core import Simulation
    from simalloc.heap.device_figures import DeviceReplay
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
    settings: Sequence[Setting], progress: Callable[[int], None] | None = None
) -> list[Run]:
    """Replay a trace under several device allocators, on all cores."""
    with ThreadPoolExecutor(max(1, min(core_count(), len(settings)))) as pool:
        return list(pool.map(lambda each: run_one(each, progress=progress), settings))


def heap_of(setting: Setting) -> Simulation:
    """Raise `PolicyError`: a device has no heap that could be looked at."""
    return setting.simulation()


def device_run(
    setting: Setting, trace: Trace, replay: DeviceReplay, seconds: float, *, addresses: bool
) -> Run:
    """Put a replay together as a run; what is reserved is the heap."""
    figures = replay.figures
    live, heap, allocated = (_or_zero(x) for x in (replay.live, replay.heap, replay.allocated))
    at_peak, at_max = int(np.argmax(heap)), int(np.argmax(live))
    ratio = np.divide(heap, live, out=np.zeros(len(heap)), where=live > 0)
    return Run(
        trace=trace.name,
        policy=setting.policy,
        scale=setting.scale,
        realloc=setting.realloc,
        events=len(replay.live),
        objects=trace.objects,
        peak_heap_bytes=float(heap[at_peak]),
        final_heap_bytes=float(heap[-1]),
        max_live_bytes=int(live[at_max]),
        final_live_bytes=int(live[-1]),
        live_bytes_at_peak_heap=int(live[at_peak]),
        heap_bytes_at_max_live=float(heap[at_max]),
        mean_heap_to_live=mean(ratio, live > 0),
        mean_heap_to_live_by_bytes=mean(ratio, _or_zero(trace.size[: len(replay.live)])),
        counters=Counters(
            growths=figures.device_alloc,
            splits=replay.splits,
            coalescings=replay.coalescings,
            free_blocks_mean=mean(replay.free_blocks),
            free_blocks_peak=int(replay.free_blocks.max(initial=0)),
            visited_mean=math.nan,  # trees are searched: no list is walked
            visited_worst=0,
            visited_at_free_mean=math.nan,
            visited_at_free_worst=0,
            coalescing_frees=replay.coalescing_frees,
            internal_bytes_at_peak_heap=float(allocated[at_peak] - live[at_peak]),
            external_bytes_at_peak_heap=float(heap[at_peak] - allocated[at_peak]),
        ),
        timeline=timeline(replay.live, replay.heap.astype(np.float64)),
        addresses=replay.addresses if addresses else None,
        seconds=seconds,
        device=figures,
    )


def _or_zero(series: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the series, or for no events at all the one state that there is: nothing."""
    return series if len(series) else np.zeros(1, np.int64)
