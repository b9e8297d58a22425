"""Objects that pin the heap, the heap at one event, and its free blocks, computed by hand."""

import pytest

from simalloc.errors import SimallocError
from simalloc.heap import FREE, heap_snapshot, simulate
from simalloc.measure import free_sizes, longest_stays, pins, ranking
from simalloc.trace import Op, Trace

M, F = Op.MALLOC, Op.FREE

# Objects 0 to 4 are adjacent. When 1, 3 and 4 are freed, 2 is alone in free memory.
ALONE = Trace.from_events(
    [M, M, M, M, M, F, F, F],
    [0, 1, 2, 3, 4, 1, 3, 4],
    [100, 50, 10, 60, 40, 0, 0, 0],
    name="alone",
    site=[7, 7, 9, 7, 7, 0, 0, 0],
)  # fmt: skip
POLICY = "first-fit-ao:growth=16"


def test_the_object_alone_in_free_memory_is_found_and_named():
    run = simulate(ALONE, POLICY)
    found = pins(ALONE, run, 7)
    assert (found.heap_bytes, found.live_bytes, found.free_bytes) == (260, 110, 150)
    first = found.alone[0]
    assert (first.object, first.address, first.requested) == (2, 150, 10)
    assert (first.since, first.age, first.site) == (2, 5, 9)
    assert (first.free_below, first.free_above, first.holds) == (50, 100, 150)
    assert [pin.object for pin in found.highest] == [2, 0]


def test_what_is_mapped_apart_pins_nothing():
    large = 1 << 20
    trace = Trace.from_events([M, M, M, M], [0, 1, 2, 3], [100, large, 50, large], name="mapped")
    found = pins(trace, simulate(trace, "dlmalloc-2.8.6", scale=1))
    assert {pin.object for pin in (*found.alone, *found.highest)} == {0, 2}


def test_no_fewer_than_none_are_asked_for():
    run = simulate(ALONE, POLICY)
    assert pins(ALONE, run, 7, most=0).alone == ()
    with pytest.raises(ValueError, match="use 0 or more"):
        pins(ALONE, run, 7, most=-1)


def test_without_an_event_it_is_the_first_with_the_peak_heap():
    assert pins(ALONE, simulate(ALONE, POLICY)).event == 4
    one = simulate(ALONE, "first-fit-ao:growth=64K")
    assert heap_snapshot(ALONE, one).event == 0


def test_a_moment_tiles_the_heap():
    heap = heap_snapshot(ALONE, simulate(ALONE, POLICY), 6)
    assert heap.object.tolist() == [0, FREE, 2, FREE, 4]
    assert heap.address.tolist() == [0, 100, 150, 160, 220]
    assert heap.requested.tolist() == [100, 0, 10, 0, 40]
    assert heap.since.tolist() == [0, -1, 2, -1, 4]


@pytest.mark.parametrize("event", [-1, 8])
def test_there_is_no_such_event(event):
    with pytest.raises(SimallocError, match="cannot be shown"):
        heap_snapshot(ALONE, simulate(ALONE, POLICY), event)


def test_a_run_of_another_trace_is_refused():
    other = Trace.from_events([M], [0], [1], name="other")
    with pytest.raises(SimallocError, match="give the trace of the run"):
        pins(ALONE, simulate(other, POLICY))


def test_free_blocks_fall_into_classes_of_powers_of_two():
    free = free_sizes(ALONE, simulate(ALONE, POLICY), count=8)
    assert free.events.tolist() == list(range(8))
    assert free.first_class == 5  # class of 32 to 63 bytes
    assert free.blocks.tolist() == [[0, 0, 0, 0, 0, 1, 2, 1], [0, 0, 0, 0, 0, 0, 0, 1]]
    assert free.bytes[:, 7].tolist() == [50, 100]


def test_the_longest_stays_come_first():
    run = simulate(ALONE, POLICY, addresses=True)
    stays = longest_stays(ALONE, run, 2)
    assert stays.object.tolist() == [0, 1]  # 100 bytes for 8 events, 50 for 4
    assert stays.until.tolist() == [8, 5]


def test_a_ranking_orders_by_the_mean_and_refuses_gaps():
    names = ("simple-seg-2n", "first-fit-ao:growth=16")
    ranks = ranking(simulate(ALONE, name) for name in names)
    assert [rank.policy for rank in ranks] == [names[1], names[0]]
    assert ranks[0].mean == pytest.approx(0)
    assert ranks[0].low is None, "an interval takes three traces"
    runs = [simulate(ALONE, names[0]), simulate(ALONE, names[0])]
    with pytest.raises(SimallocError, match="two runs"):
        ranking(runs)
    other = Trace.from_events([M], [0], [1], name="other")
    with pytest.raises(SimallocError, match="no run of other"):
        ranking([simulate(ALONE, names[0]), simulate(other, names[0]), simulate(ALONE, names[1])])
