"""The atlas compared with the heap map, which is made from events, and with the heap itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_heap_map import traces

from simalloc.heap import heap_snapshot, simulate
from simalloc.measure import atlas, heap_map, longest_stays
from simalloc.measure._c import Cells, fill_window
from simalloc.trace import Op, Trace
from simalloc.trace.catalogue import load

M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC


@given(traces(60, "mmmffr"), st.sampled_from(["free-first", "in-place"]), st.data())
def test_a_window_is_the_heap_map_of_that_window(trace, realloc, data):
    run = simulate(trace, "first-fit-lifo", scale=2, realloc=realloc, addresses=True)
    top = run.peak_heap_bytes
    events = sorted(data.draw(st.tuples(*[st.integers(0, len(trace))] * 2)))
    addresses = sorted(data.draw(st.tuples(*[st.floats(0, top)] * 2)))
    cells = data.draw(st.tuples(st.integers(1, 30), st.integers(1, 30)))
    window = {"events": events, "addresses": addresses, "columns": cells[0], "rows": cells[1]}
    expected = heap_map(trace, run, **window)
    found = atlas(trace, run).window(**window)
    assert (found.live <= 1 + 1e-9).all(), "a window may end within its last cells"
    for name in ("live", "age", "heap"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.extent == expected.extent


@given(traces(60, "mmmffr"), st.data())
def test_what_lies_at_a_point_is_what_the_heap_holds_there(trace, data):
    run = simulate(trace, "best-fit-ao", scale=1, realloc="in-place", addresses=True)
    pages = atlas(trace, run)
    event = data.draw(st.integers(0, len(trace) - 1))
    heap = heap_snapshot(trace, run, event)
    blocks = zip(heap.object, heap.address, heap.requested, heap.since, strict=True)
    for number, address, requested, since in blocks:
        place = pages.at(event, address)
        if number < 0:
            assert place is None
        else:
            assert pages.stays.since[place] == since
            assert pages.stays.object[place] == number
            assert pages.stays.requested[place] == requested


def test_the_nearest_is_found_if_it_is_near_enough():
    trace = Trace.from_events([M, M, F], [0, 1, 0], [64, 16, 0])
    pages = atlas(trace, simulate(trace, "first-fit-ao", scale=1, addresses=True))
    assert pages.at(2, 10.0) is None
    assert pages.at(2, 54.0, near=10.0) is None
    assert pages.stays.object[pages.at(2, 54.0, near=10.5)] == 1
    assert pages.at(0, 3.0) is not None
    assert pages.at(0, 3e9) is None


def test_few_stays_are_looked_at_for_a_short_window():
    trace = load("cfrac").prefix(200_000)
    pages = atlas(trace, simulate(trace, "best-fit-ao", addresses=True))
    for first in range(0, 200_000, 17_000):
        looked = int(np.diff(pages.ranges(first, first + 1)).sum())
        there = np.count_nonzero((pages.stays.since <= first) & (pages.stays.until > first))
        assert there <= looked <= 4 * there + 64


def test_the_longest_stays_are_some_of_all():
    trace = load("make").prefix(5_000)
    run = simulate(trace, "best-fit-ao", addresses=True)
    some, everything = longest_stays(trace, run, 50), atlas(trace, run).stays
    kept = set(zip(everything.since.tolist(), everything.until.tolist(), strict=True))
    assert len(some) == 50
    assert set(zip(some.since.tolist(), some.until.tolist(), strict=True)) <= kept


def test_a_run_without_addresses_has_the_same_atlas():
    trace = load("make").prefix(5_000)
    with_addresses, without = (
        atlas(trace, simulate(trace, "first-fit-lifo", realloc="in-place", addresses=kept)).stays
        for kept in (True, False)
    )
    for name in ("object", "placed", "requested", "birth", "since", "until"):
        np.testing.assert_array_equal(getattr(with_addresses, name), getattr(without, name))


def test_an_empty_trace_has_an_empty_atlas():
    trace = Trace.from_events([], [], [])
    pages = atlas(trace, simulate(trace, "best-fit-ao", addresses=True))
    assert pages.at(0, 0.0) is None
    assert not pages.window().live.any()


@pytest.mark.parametrize(
    ("ranges", "columns", "rows", "message"),
    [
        ([0, 2], 1, 1, "a range is not a range of stays"),
        ([1, 0], 1, 1, "a range is not a range of stays"),
        ([-1, 1], 1, 1, "a range is not a range of stays"),
        ([0, 1], 1, 2, "the cells need rows"),
        ([0, 1], 1 << 33, 1 << 31, "too many cells"),
        ([0, 1], 0, 1, "do not cover the window"),
    ],
)
def test_what_would_be_written_elsewhere_is_refused(ranges, columns, rows, message):
    stay = [np.array([value]) for value in (0, 16, 0, 0, 1)]
    shape = (0, 1, 0, 1, 16, columns, rows)
    cells = np.zeros(1), np.zeros(1)
    with pytest.raises(ValueError, match=message):
        fill_window(*stay, *cells, shape=shape, ranges=np.array(ranges), scale=1)


def test_cells_that_no_memory_is_there_for():
    with pytest.raises(MemoryError):
        Cells((0, 1, 0, 1, 16, 1 << 30, 1 << 30), 1)
