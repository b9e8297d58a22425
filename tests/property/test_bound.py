"""The placement in C compared with its definition in plain Python and with the bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.bounds.small import KINDS, compare
from simalloc.bound import Timetable, best_possible, verify
from simalloc.bound.orders import FOREMOST, all_grouped
from simalloc.bound.placer import Fit, Placer
from simalloc.bound.reference import ReferencePlacer, lives_of_trace, place_outward
from simalloc.heap import simulate
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
    layout = Placer(table).outward(packed, event, [fit], UNLIMITED)
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


@given(traces(), st.data())
def test_both_engines_place_alike_in_tiers(trace, data):
    table = Timetable.of(trace)
    if not len(table):
        return
    tiers = data.draw(st.lists(st.integers(0, 4), min_size=len(table), max_size=len(table)))
    tier = np.array(tiers, np.uint32)
    core, reference = Placer(table), ReferencePlacer(table)
    one, other = (placer.in_tiers(tier, UNLIMITED) for placer in (core, reference))
    assert one.address.tolist() == other.address.tolist()
    assert one.height == other.height
    verify(table, one.address)
    assert core.in_tiers(tier, one.height) is None


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


@given(st.sampled_from(sorted(KINDS)), st.integers(0, 2**32))
def test_small_instances_against_an_exhaustive_search(kind, seed):
    compared = compare(KINDS[kind](np.random.default_rng(seed)))
    assert not compared.is_wrong
    assert not compared.is_missed
