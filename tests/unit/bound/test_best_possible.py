"""The search for the best possible placement, on examples computed by hand."""

import numpy as np
import pytest

from simalloc.bound import Timetable, best_possible, verify
from simalloc.bound.orders import FOREMOST, grouped
from simalloc.bound.placer import Fit, Placer
from simalloc.bound.tries import NEAR, FromEvent, tries
from simalloc.trace import Op, Trace
from simalloc.trace.catalogue import load
from simalloc.trace.events import MAX_SIZE

M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC

EXAMPLE = Trace.from_events(
    [M, M, M, F, M, M, F, M], [0, 1, 2, 0, 3, 4, 2, 5], [2, 1, 2, 0, 1, 1, 0, 3], name="example"
)
"""Live bytes: 2 3 5 3 4 5 3 6. The peak is at the end, with 1, 3, 4 and 5 live."""


def test_the_timetable_of_the_example():
    table = Timetable.of(EXAMPLE)
    assert table.live.tolist() == [2, 3, 5, 3, 4, 5, 3, 6]
    assert (table.peak, table.live_after(7).tolist()) == (6, [1, 3, 4, 5])
    assert table.died.tolist() == [3, 8, 6, 8, 8, 8]


def test_the_example_outward_from_its_peak():
    # 1 is at 0, 3 at 1, 4 at 2, 5 at 3. In reverse time, 5 frees 3..6 and 2 takes 3..5. Then 4 and
    # 3 free 1..3, which 0 takes.
    table = Timetable.of(EXAMPLE)
    layout = Placer(table).outward(np.array([1, 3, 4, 5]), 7, [Fit.FIRST], limit=100)
    assert layout.address.tolist() == [1, 0, 3, 1, 2, 3]
    assert layout.height == 6
    assert Placer(table).outward(np.array([1, 3, 4, 5]), 7, [Fit.FIRST], limit=6) is None


def test_the_best_possible_of_the_example_is_the_bound():
    placement = best_possible(EXAMPLE)
    assert (placement.height, placement.bound, placement.is_bound) == (6, 6, True)
    assert placement.how == "outward from the peak, oldest lowest, first fit"
    assert (placement.tries, placement.stopped) == (1, False)
    assert placement.by_event().tolist() == [1, 0, 3, -1, 1, 2, -1, 3]
    assert placement.swept.heap.tolist() == [3, 3, 5, 5, 5, 5, 5, 6]


def test_a_realloc_may_take_the_place_that_it_gives_back():
    placement = best_possible(Trace.from_events([M, R, R, F], [0, 0, 0, 0], [4, 6, 5, 0]))
    assert placement.height == 6
    assert placement.by_event().tolist() == [0, 0, 0, -1]


@pytest.mark.parametrize("sizes", [[], [0], [0, 0, 0]])
def test_traces_of_nothing(sizes):
    trace = Trace.from_events([M] * len(sizes), range(len(sizes)), sizes)
    placement = best_possible(trace)
    assert placement.height == placement.bound == len(sizes)
    assert sorted(placement.by_event().tolist()) == list(range(len(sizes)))


def test_who_overlaps_is_named():
    table = Timetable.of(EXAMPLE)
    with pytest.raises(ValueError, match="life 2 at 2 and life 1 at 2 overlap at event 2"):
        verify(table, np.array([0, 2, 2, 10, 11, 12]))
    with pytest.raises(ValueError, match="life 1 is at the negative address -1"):
        verify(table, np.array([0, -1, 2, 10, 11, 12]))
    with pytest.raises(ValueError, match=f"life 5 at {2**63 - 3} ends beyond"):
        verify(table, np.array([0, 2, 3, 10, 11, 2**63 - 3]))
    with pytest.raises(ValueError, match="5 addresses are given for 6 lives"):
        verify(table, np.arange(5))


def test_orders():
    table = Timetable.of(EXAMPLE)
    lives = np.array([0, 1, 2])
    packed = {order.words: order.pack(table, 2, lives).tolist() for order in FOREMOST}
    assert packed["oldest lowest"] == [0, 1, 2]
    assert packed["last to die lowest"] == [1, 2, 0]
    assert packed["longest life lowest"] == [1, 2, 0]
    assert grouped(2, by_birth=True).pack(table, 2, lives).tolist() == [1, 0, 2]


def test_large_objects_go_on_top():
    sizes = [5000, 4, 5, 5000]  # objects above 10 bytes are large
    table = Timetable.of(Trace.from_events([M] * 4 + [F], [0, 1, 2, 3, 1], [*sizes, 0]))
    (order,) = (order for order in FOREMOST if order.words.startswith("large"))
    assert order.pack(table, 3, np.arange(4)).tolist() == [2, 1, 0, 3]


def test_what_is_near_the_peak_is_known_of_the_largest_heaps_too():
    count = 1 << 10
    sizes = np.full(count, MAX_SIZE)
    table = Timetable.of(Trace.from_events([M] * count, range(count), sizes))
    assert table.peak == 1 << 57
    events = {one.event for one in tries(table) if isinstance(one, FromEvent)}
    assert min(events) == count - count // NEAR[-1] - 1
    assert max(events) == count - 1


def test_progress_ends_with_the_whole():
    shares = []
    best_possible(load("make"), shares.append)
    assert sum(shares) == pytest.approx(1)


def test_an_interruption_keeps_the_best_so_far():
    trace = load("cfrac").prefix(200_000)  # too many objects for the exact search
    shares = []

    def interrupt(share):
        shares.append(share)
        if len(shares) == 2:
            raise KeyboardInterrupt

    placement = best_possible(trace, interrupt)
    assert (placement.tries, placement.stopped, placement.is_bound) == (2, True, False)
    verify(placement.table, placement.address)


def test_an_interruption_before_anything_is_found_goes_on():
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        best_possible(EXAMPLE, interrupt)


@pytest.mark.parametrize("name", ["make", "hyper", "lrusim", "p2c"])
def test_a_shipped_trace_fits_to_the_byte(name):
    placement = best_possible(load(name))
    assert placement.is_bound


def test_cfrac_fits_to_the_byte_in_tiers():
    placement = best_possible(load("cfrac"))
    assert (placement.height, placement.how[:8]) == (21_427, "in tiers")
