"""The placement in C against its definition in plain Python, and against what is possible."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simalloc.bound import Timetable, best_possible, verify
from simalloc.bound.orders import FOREMOST, all_grouped
from simalloc.bound.outward import Fit, Outward
from simalloc.bound.reference import lives_of_trace, place_outward
from simalloc.heap import simulate
from simalloc.trace import Trace
from traces import traces

UNLIMITED = 1 << 62
ORDERS = (*FOREMOST, *all_grouped())


@given(traces(), st.sampled_from(ORDERS), st.sampled_from(Fit), st.floats(0, 1))
def test_both_engines_place_alike(trace, order, fit, where):
    table = Timetable.of(trace)
    if not len(table):
        return
    event = int(where * (len(trace) - 1))
    packed = order.pack(table, event, table.live_after(event))
    layout = Outward(table).place(packed, event, [fit], UNLIMITED)
    lives = lives_of_trace(trace)
    addresses = {}
    heights = []
    for backward in (False, True):
        height, placed, _ = place_outward(
            lives, packed.tolist(), event, fit, backward=backward, limit=UNLIMITED
        )
        heights.append(height)
        addresses |= placed
    assert layout.height == max(heights)
    assert layout.address.tolist() == [addresses[life] for life in range(len(lives))]
    verify(table, layout.address)


@given(
    traces(max_phases=3),
    st.sampled_from(["", ":header=8,alignment=16", ":minimum=64", ":mechanism=on"]),
    st.sampled_from([1, 16]),
)
def test_both_engines_have_one_answer(trace, overhead, scale):
    core, reference = (
        simulate(trace, f"best-possible{overhead}", scale=scale, engine=engine, addresses=True)
        for engine in ("core", "reference")
    )
    assert core == reference
    assert core.addresses.tolist() == reference.addresses.tolist()
    assert core.found.is_bound == (core.peak_heap_bytes == core.found.bound_bytes)


@given(traces())
def test_lives_are_those_of_the_definition(trace):
    table = Timetable.of(trace)
    lives = lives_of_trace(trace)
    assert [life.born for life in lives] == table.born.tolist()
    assert [life.died for life in lives] == table.died.tolist()
    assert [life.size for life in lives] == table.size.tolist()


@given(traces(), st.data())
def test_a_sweep_finds_every_overlap(trace, data):
    table = Timetable.of(trace)
    address = np.array(
        data.draw(st.lists(st.integers(0, 200), min_size=len(table), max_size=len(table))), np.int64
    )
    overlap = any(
        address[one] < address[other] + table.size[other]
        and address[other] < address[one] + table.size[one]
        for one in range(len(table))
        for other in range(one)
        if table.born[one] < table.died[other]
    )
    if overlap:
        with pytest.raises(ValueError, match="overlap"):
            verify(table, address)
    else:
        verify(table, address)


@given(traces())
def test_a_sweep_counts_what_is_there_after_each_event(trace):
    placement = best_possible(trace)
    table, swept = placement.table, placement.swept
    edge, frees, heap = 0, [], []
    for event in range(len(trace)):
        live = table.live_after(event)
        spans = sorted((placement.address[life], table.size[life]) for life in live)
        end, gaps = 0, 0
        for address, size in spans:
            gaps += address > end
            end = address + size
        edge = max(edge, end)
        frees.append(gaps + (edge > end))
        heap.append(edge)
    assert swept.heap.tolist() == heap
    assert swept.free_blocks.tolist() == frees
    born, died = len(table), np.count_nonzero(table.died < table.events)
    blocks = swept.growths + swept.splits - swept.coalescings
    assert blocks == (frees[-1] if frees else 0) + born - died


small = st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 6), st.integers(1, 9)), min_size=1, max_size=6
)


@given(small)
def test_small_instances_against_an_exhaustive_search(spans):
    trace = trace_of_spans(spans)
    placement = best_possible(trace)
    assert placement.bound <= least_height(placement.table) <= placement.height


def trace_of_spans(spans):
    """Return the trace of objects that live from a time for some time; at one time frees first."""
    births = [(start, 1, number, size) for number, (start, _, size) in enumerate(spans)]
    deaths = [(start + length, 0, number, 0) for number, (start, length, _) in enumerate(spans)]
    events = sorted(births + deaths)
    return Trace.from_events(
        [1 - kind for _, kind, _, _ in events],
        [number for _, _, number, _ in events],
        [size for _, _, _, size in events],
    )


def least_height(table):
    """Return the least height of all placements.

    Some best placement comes of putting objects in turn, by address, as low as those before allow.
    """
    best = UNLIMITED
    for order in permutations(range(len(table))):
        best = min(best, height_of(table, order, best))
        if best == table.peak:
            break
    return best


def height_of(table, order, limit):
    placed = []
    for life in order:
        address = 0
        for start, end, other in sorted(placed):
            meets = table.born[life] < table.died[other] and table.born[other] < table.died[life]
            if meets and start < address + table.size[life] and address < end:
                address = end
        placed.append((address, address + table.size[life], life))
        if address + table.size[life] >= limit:
            return limit
    return max(end for _, end, _ in placed)
