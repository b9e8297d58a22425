"""The run of `best-possible`: an ordinary run of a placement that was found offline."""

import numpy as np
import pytest

from simalloc.bound import Timetable
from simalloc.errors import SimallocError
from simalloc.heap import FREE, heap_snapshot, simulate, simulate_all
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.whole_trace import heap_of
from simalloc.measure import fragmentation, free_sizes, heap_map, pins
from simalloc.trace import Op, Trace
from simalloc.trace.events import MAX_SIZE

M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC

EXAMPLE = Trace.from_events(
    [M, M, M, F, M, M, F, M], [0, 1, 2, 0, 3, 4, 2, 5], [2, 1, 2, 0, 1, 1, 0, 3], name="example"
)
"""Packed backwards from the peak, which is after the last event: 1 at 0, 3 at 1, 4 at 2, 5 at 3;
then 2 at 3, 0 at 1.
"""


def test_the_example_as_a_run():
    run = simulate(EXAMPLE, "best-possible", addresses=True)
    assert run.addresses.tolist() == [16, 0, 48, -1, 16, 32, -1, 48]
    assert (run.peak_heap_bytes, run.max_live_bytes, fragmentation(run)[4]) == (6, 6, 0)
    assert run.timeline.heap_high.tolist() == [3, 3, 5, 5, 5, 5, 5, 6]
    counters = run.counters
    assert (counters.growths, counters.splits, counters.coalescings) == (3, 2, 1)
    assert (counters.internal_bytes_at_peak_heap, counters.external_bytes_at_peak_heap) == (0, 0)
    assert np.isnan(counters.visited_mean)
    found = run.found
    assert (found.bound_bytes, found.is_bound) == (6, True)
    assert str(found) == "the bound itself: outward from the peak, oldest lowest, first fit"


def test_headers_count():
    run = simulate(EXAMPLE, "best-possible:header=4", scale=1)
    assert run.found.bound_bytes == run.peak_heap_bytes == 4 * 4 + 6
    assert run.counters.internal_bytes_at_peak_heap == 16


def test_a_request_of_nothing_takes_a_byte():
    run = simulate(Trace.from_events([M, M], [0, 1], [0, 0]), "best-possible")
    assert (run.peak_heap_bytes, run.max_live_bytes, run.found.bound_bytes) == (2, 0, 2)


@pytest.mark.parametrize("name", ["best-possible", "best-possible:header=8", "first-fit-ao"])
@pytest.mark.parametrize("objects", [9, 64])
def test_a_heap_that_no_addresses_are_left_for(name, objects):
    """At this scale, 8 objects fill the heap's maximum of 2**62 bytes, and 16 fill an int64."""
    trace = Trace.from_events([M] * objects, range(objects), [MAX_SIZE] * objects)
    with pytest.raises(SimallocError, match=r"the heap would exceed 2\*\*62 bytes"):
        simulate(trace, name, scale=4096)


def test_no_events():
    run = simulate(Trace.from_events([], [], []), "best-possible")
    assert (run.peak_heap_bytes, run.events, run.found.is_bound) == (0, 0, True)


def test_beside_others_it_keeps_its_place():
    reported = []
    names = ["first-fit-ao", "best-possible", "best-fit-ao"]
    runs = simulate_all(EXAMPLE, names, progress=reported.append)
    assert [run.policy.name for run in runs] == names
    assert sum(reported) == len(EXAMPLE) * len(names)
    assert runs[1] == simulate(EXAMPLE, "best-possible")


@pytest.mark.parametrize("event", range(len(EXAMPLE)))
def test_the_heap_after_each_event(event):
    heap = heap_snapshot(EXAMPLE, simulate(EXAMPLE, "best-possible"), event)
    assert heap.address[0] == 0
    np.testing.assert_array_equal(heap.address[1:], (heap.address + heap.size)[:-1])
    assert heap.requested.sum() == EXAMPLE.replayed.live[event]


def test_the_heap_at_its_peak_and_in_the_middle():
    run = simulate(EXAMPLE, "best-possible")
    peak = heap_snapshot(EXAMPLE, run)
    assert (peak.event, peak.object.tolist()) == (7, [1, 3, 4, 5])
    middle = heap_snapshot(EXAMPLE, run, 3)
    assert middle.object.tolist() == [1, FREE, 2]
    assert middle.size.tolist() == [1, 2, 2]


def test_what_looks_into_heaps_looks_into_this_one():
    run = simulate(EXAMPLE, "best-possible", addresses=True)
    assert heap_map(EXAMPLE, run).live[:, -1].min() == 1
    assert pins(EXAMPLE, run).free_bytes == 0
    assert free_sizes(EXAMPLE, run) is not None


def test_a_free_block_just_below_a_power_of_two_is_not_of_that_power():
    """A float would round 2**59 - 1 scaled bytes to 2**59."""
    trace = Trace.from_events([M, M, F], [0, 1, 0], [MAX_SIZE - 1, 1, 0])
    run = simulate(trace, "best-possible:header=4095", scale=4096)
    sizes = free_sizes(trace, run)
    assert (sizes.first_class, sizes.blocks.tolist()) == (46, [[0, 0, 1]])


def test_the_blocks_of_a_moment_are_found_once(monkeypatch):
    looked, live_after = [], Timetable.live_after
    heap = heap_of(Setting.of(EXAMPLE, "best-possible", scale=16))
    monkeypatch.setattr(
        Timetable,
        "live_after",
        lambda table, event: looked.append(event) or live_after(table, event),
    )
    for events in (4, 5):
        heap.go_to(events)
        heap.free_sizes()
        columns = np.empty((3, heap.block_count()), np.int64)
        assert heap.blocks(0, *columns[:, :1]) == 1
        assert heap.blocks(1, *columns[:, 1:]) == columns.shape[1] - 1
        np.testing.assert_array_equal(columns[0, 1:], (columns[0] + columns[1])[:-1])
    assert looked == [3, 4]
