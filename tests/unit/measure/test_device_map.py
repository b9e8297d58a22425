"""A device's memory over time, computed by hand: its calls, its map, and pinning objects."""

import numpy as np
import pytest

from simalloc.heap.watch.device_replay import replay_device
from simalloc.measure import device_map
from simalloc.measure.device.segments import memory_of, segments_of
from simalloc.policy import find_policy
from simalloc.report.figures.device_map import draw_device_maps
from simalloc.trace import Op, Trace

MIB = 1 << 20
M, F, E = Op.MALLOC, Op.FREE, Op.EMPTY


def trace(*events, **more):
    return Trace.from_events(*zip(*events, strict=True), **more)


GROWING = trace(
    (M, 0, 30 * MIB),
    (M, 1, 12 * MIB),
    (F, 0, 0),
    (E, 0, 0),  # 30 MiB are released
    (M, 2, 24 * MIB),  # fills the released bytes in the picture
    (M, 3, 600),
    (F, 1, 0),
    site=[0, 1, 0, 0, 2, 0, 0],
    provenance={"sites": ["", "forward", "backward"]},
)


def test_what_was_taken_when():
    replay = replay_device(GROWING, find_policy("pytorch").description)
    memory = memory_of(replay)
    assert (memory[:, 1] // MIB).tolist() == [30, 12, 24, 2]
    assert memory[:, 2:].tolist() == [[0, 3], [1, 7], [4, 7], [5, 7]]
    segments = segments_of(memory, ranges=False)
    assert (segments.shown // MIB).tolist() == [0, 30, 0, 24]
    assert segments.moved(np.array([-1, 30 * MIB, 42 * MIB + 5])).tolist() == [-1, 30 * MIB, 5]


def test_pages_that_are_unmapped_split_what_was_mapped():
    replay = replay_device(
        trace((M, 0, 50 * MIB), (M, 1, 2 * MIB), (F, 0, 0), (E, 0, 0), (M, 2, 25 * MIB)),
        find_policy("pytorch-expandable", capacity="1G").description,
    )
    memory = memory_of(replay)
    assert (memory[:, :2] // MIB).tolist() == [[0, 40], [0, 40], [40, 20]]
    assert sorted(memory[:, 2:].tolist()) == [[0, 3], [0, 5], [4, 5]]
    ranges = segments_of(memory, ranges=True)
    assert (len(ranges), ranges.size[0] // MIB) == (1, 60)


def test_the_map_tells_memory_from_what_is_none():
    shown = device_map(GROWING, columns=200, named=2)
    assert shown.map.mapped.shape == shown.map.live.shape
    taken = shown.map.mapped.sum(axis=0) * shown.map.cell_bytes / MIB
    assert taken == pytest.approx(shown.reserved / MIB, abs=1)
    assert shown.map.live[~shown.map.mapped].max() <= 0.5, "at the edges of segments alone"
    assert draw_device_maps([shown]).axes


def test_what_keeps_a_segment():
    found = device_map(GROWING, "max_split_size_mb:25").pinned
    assert (found.event, found.segments, found.empty) == (1, 2, 0)
    events = (M, 0, 9 * MIB), (M, 1, 2 * MIB), (F, 0, 0), (M, 2, 15 * MIB)
    sites = {"site": [1, 2, 0, 1], "provenance": {"sites": ["", "a", "b"]}}
    found = device_map(trace(*events, **sites)).pinned
    (one,) = found.worst
    assert (one.size, one.requested, one.objects, one.last) == (20 * MIB, 2 * MIB, 1, 1)
    assert (one.last_since, one.last_until, one.place) == (1, None, "b")
    assert (found.half_empty, found.half_empty_free) == (1, 18 * MIB)


def test_a_map_ends_at_an_out_of_memory():
    shown = device_map(GROWING, capacity=40 * MIB)
    assert shown.first_refused_event == 2
    assert len(shown.reserved) == 2
