"""Details of a device's memory: a map over time, and the objects that pin its segments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import Run
from simalloc.heap.watch.device_replay import DeviceReplay, replay_device
from simalloc.measure.device.outcomes import described
from simalloc.measure.device.pinned import Pinned, pinned
from simalloc.measure.device.segments import Segments, memory_of, segments_of
from simalloc.measure.heap_map import HeapMap, heap_map
from simalloc.measure.longest_stays import longest_stays
from simalloc.measure.stays import Stays
from simalloc.shown import ShownAsPicture
from simalloc.trace import Trace

COLUMNS: Final = 1600


@dataclass(frozen=True, eq=False)
class DeviceMap(ShownAsPicture):
    """A map of a device's memory under some settings: segments by address, events by time.

    Addresses are the positions at which segments are shown (`Segments`). In `map`, `mapped` marks
    the cells in memory taken from the device.
    """

    settings: str
    map: HeapMap
    segments: Segments
    stays: Stays
    """Objects with the largest product of bytes and events."""
    pinned: Pinned
    reserved: NDArray[np.int64]
    """Bytes taken from the device after each event."""
    requested: NDArray[np.int64]
    """Bytes of the program after each event."""
    first_refused_event: int


def device_map(
    trace: Trace, settings: str = "", capacity: int = 0, *, columns: int = COLUMNS, named: int = 0
) -> DeviceMap:
    """Return the map of a trace's memory under a text of settings, up to an out-of-memory error.

    `capacity` is the device's capacity in bytes, or 0 for unlimited memory. At most `named` objects
    are listed.
    """
    description = described(settings, capacity)
    expandable = description.resolved.expandable_segments
    page = description.rules.large_segment if expandable else None
    replay = replay_device(trace, description)
    events = len(replay.addresses)
    seen = trace if events == len(trace) else trace.prefix(events)
    memory = memory_of(replay)
    segments = segments_of(memory, ranges=expandable)
    run = _shown(seen, replay, segments)
    drawn = heap_map(seen, run, columns=columns, rows=columns // 2)
    mapped = _mapped(drawn, segments, memory)
    return DeviceMap(
        settings=settings,
        map=replace(drawn, mapped=mapped, heap=_tops(drawn, mapped)),
        segments=segments,
        stays=longest_stays(seen, run, named),
        pinned=pinned(seen, replay, segments, memory, page=page),
        reserved=replay.heap,
        requested=replay.live,
        first_refused_event=replay.figures.first_refused_event,
    )


def _shown(trace: Trace, replay: DeviceReplay, segments: Segments) -> Run:
    """Return the run of a replay, at the addresses at which its segments are shown."""
    top = int((segments.shown + segments.size).max(initial=1))
    mapped = replace(replay.run.mapped, peak_bytes=float(top))
    addresses = segments.moved(replay.addresses)
    return replace(replay.run, objects=trace.objects, addresses=addresses, mapped=mapped)


def _mapped(drawn: HeapMap, segments: Segments, memory: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the cells whose middle is in memory of the device."""
    mapped = np.zeros(drawn.live.shape, np.bool_)
    for start, size, since, until in np.column_stack(
        (segments.moved(memory[:, 0]), memory[:, 1:])
    ).tolist():
        low = max(0, int(np.ceil(start / drawn.cell_bytes - 0.5)))
        high = max(low + 1, int(np.ceil((start + size) / drawn.cell_bytes - 0.5)))
        left = since // drawn.cell_events
        right = max(left + 1, -(-until // drawn.cell_events))
        mapped[low:high, left:right] = True
    return mapped


def _tops(drawn: HeapMap, mapped: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the end of the highest memory in each column."""
    rows = len(mapped)
    highest = rows - mapped[::-1].argmax(axis=0)
    tops: NDArray[np.float64] = np.where(mapped.any(axis=0), highest, 0) * drawn.cell_bytes
    return tops
