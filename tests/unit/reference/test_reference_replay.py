"""Events, measures and counters of the reference engine on hand-made traces."""

import math
from functools import partial

import numpy as np
import pytest
from small_traces import trace

from simalloc.errors import SimallocError
from simalloc.heap.reference import replay
from simalloc.heap.run_options import Realloc
from simalloc.heap.running.run_from_states import left_to_right_sum, timeline
from simalloc.heap.simulate import simulate
from simalloc.policy import find_policy

FIRST_FIT = find_policy("first-fit-ao", growth=100)
simulate_in_python = partial(simulate, engine="reference")


@pytest.mark.parametrize(
    ("rule", "addresses", "free_blocks"),
    [
        (Realloc.FREE_FIRST, [0, 10, 0, 5, -1, 35], [1, 1, 2, 1, 2, 2]),
        (Realloc.MOVE, [0, 10, 20, 25, -1, 0], [1, 1, 2, 2, 2, 2]),
        (Realloc.IN_PLACE, [0, 10, 0, 10, -1, 40], [1, 1, 2, 2, 2, 2]),
    ],
)
def test_realloc_follows_its_rule(rule, addresses, free_blocks):
    events = trace("m0:10 m1:10 r0:5 r1:30 f0 m2:20")
    raw = replay(events, FIRST_FIT.description, scale=1, realloc=rule, check=True)
    assert raw.addresses.tolist() == addresses
    assert raw.free_blocks.tolist() == free_blocks


def test_in_place_grows_into_what_follows_or_moves():
    events = trace("m0:10 r0:30 m1:10 r0:31")
    raw = replay(events, FIRST_FIT.description, scale=1, realloc=Realloc.IN_PLACE, check=True)
    assert raw.addresses.tolist() == [0, 0, 30, 40]
    assert raw.visited.tolist() == [0, 1, 1]  # an object that remains in place causes no search
    assert raw.live.tolist() == [10, 30, 40, 41]


def test_an_empty_object_takes_a_block_and_adds_nothing_to_live():
    run = simulate_in_python(trace("m0:0 m1:0"), find_policy("first-fit-ao", growth=16))
    assert run.addresses.tolist() == [0, 16]
    assert (run.max_live_bytes, run.peak_heap_bytes, run.heap_bytes_at_max_live) == (0, 2, 1)
    assert math.isnan(run.mapped.mean_to_live)
    assert math.isnan(run.mapped.mean_to_live_by_bytes)
    assert run.counters.internal_bytes_at_peak_heap == 2


def test_measures_belong_to_the_first_event_of_a_peak():
    run = simulate_in_python(
        trace("m0:60 m1:50 f0 m2:60 f1 f2 m3:0"), FIRST_FIT, scale=1, checked=True
    )
    # Live bytes: 60 110 50 110 60 0 0. Heap: 100, then 200. Free blocks: 1 1 2 1 1 1 1.
    assert (run.peak_heap_bytes, run.live_bytes_at_peak_heap) == (200, 110)
    assert (run.max_live_bytes, run.heap_bytes_at_max_live) == (110, 200)
    assert (run.final_heap_bytes, run.final_live_bytes) == (200, 0)
    ratios = [100 / 60, 200 / 110, 200 / 50, 200 / 110, 200 / 60]
    assert run.mapped.mean_to_live == pytest.approx(sum(ratios) / 5, rel=1e-14)
    weighted = (60 * ratios[0] + 50 * ratios[1] + 60 * ratios[3]) / 170
    assert run.mapped.mean_to_live_by_bytes == pytest.approx(weighted, rel=1e-14)
    assert run.counters.free_blocks_mean == pytest.approx(8 / 7)
    assert run.counters.free_blocks_peak == 2
    assert (run.counters.visited_mean, run.counters.visited_worst) == (0.75, 1)
    assert run.counters.growths == 2


def test_the_heap_beyond_live_is_internal_or_external():
    run = simulate_in_python(trace("m0:3 m1:5"), find_policy("simple-seg-2n", growth=100))
    # Blocks have 64 and 128 scaled bytes, and 36 bytes are wasted in the first growth.
    assert run.peak_heap_bytes == 228 / 16
    assert run.counters.internal_bytes_at_peak_heap == 12 - 8
    assert run.counters.external_bytes_at_peak_heap == 36 / 16


def test_no_events_make_an_empty_run():
    run = simulate_in_python(trace(""), FIRST_FIT)
    assert (run.events, run.peak_heap_bytes, run.max_live_bytes) == (0, 0, 0)
    assert run.counters.visited_worst == run.counters.free_blocks_peak == 0
    assert math.isnan(run.counters.visited_mean)
    assert math.isnan(run.counters.free_blocks_mean)
    assert len(run.timeline.heap_high) == len(run.addresses) == 0


@pytest.mark.parametrize(
    ("events", "interval", "intervals"),
    [(1, 1, 1), (2048, 1, 2048), (2049, 2, 1025), (4096, 2, 2048), (4097, 4, 1025)],
)
def test_a_timeline_has_the_fewest_events_an_interval_that_make_2048(events, interval, intervals):
    line = timeline(np.arange(events), np.arange(events) / 2)
    assert (line.interval, len(line.live_low)) == (interval, intervals)
    assert line.live_low[-1] == interval * (intervals - 1)
    assert (line.live_high[-1], line.heap_high[-1]) == (events - 1, (events - 1) / 2)
    assert line.live_high[0] == interval - 1
    assert line.heap_low.dtype == line.live_low.dtype == np.float64


def test_sums_run_from_left_to_right():
    assert left_to_right_sum(np.array([1e16, 1.0, 1.0, -1e16])) == 0
    assert left_to_right_sum(np.array([1.0, 1.0, 1e16, -1e16])) == 2


@pytest.mark.parametrize(
    "name", ["first-fit-ao", "next-fit-lifo", "lea-2.6.1", "simple-seg-2n", "binary-buddy"]
)
def test_a_heap_may_be_2_to_the_62_bytes_and_no_more(name):
    most = " ".join(f"m{number}:{1 << 47}" for number in range(8))
    description = find_policy(name, growth=16).description
    raw = replay(trace(most), description, scale=1 << 12)
    assert raw.addresses.tolist() == [number << 59 for number in range(8)]
    with pytest.raises(
        SimallocError, match=r"event 8 \(of 1 bytes\): the heap would exceed 2\*\*62 bytes"
    ):
        replay(trace(f"{most} m8:1"), description, scale=1 << 12)
