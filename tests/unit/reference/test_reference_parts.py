"""Parts that can be combined with every family, computed by hand."""

import pytest
from small_traces import trace

from simalloc.errors import PolicyError
from simalloc.heap.reference import heap_for, replay
from simalloc.heap.reference.layers.front import Front
from simalloc.heap.reference.parts.bin_number import LEA_BINS, bin_number
from simalloc.heap.reference.parts.overhead import gross_size
from simalloc.heap.reference.space import State
from simalloc.heap.run_options import Realloc
from simalloc.policy import Fit, Order, Overhead, Series
from simalloc.policy.families.binary_buddy import BinaryBuddy
from simalloc.policy.families.binned_fit import BinnedFit
from simalloc.policy.families.segregated_storage import SegregatedStorage
from simalloc.policy.families.sequential_fit import SequentialFit


def first_fit(**parameters):
    return SequentialFit(Fit.FIRST, Order.ADDRESS, growth=100, **parameters)


def front(description):
    return Front(heap_for(description), description)


def state(front, state):
    return front.heap.blocks.in_state(state)


@pytest.mark.parametrize(
    ("size", "overhead", "gross"),
    [
        (10, Overhead(), 10),
        (10, Overhead(header=4, footer=4), 18),
        (10, Overhead(header=4, footer=4, alignment=8), 24),
        (1, Overhead(header=4, footer=4, alignment=8, minimum=16), 16),
        (8, Overhead(alignment=8), 8),
    ],
)
def test_gross_size(size, overhead, gross):
    assert gross_size(size, overhead) == gross


def test_a_mechanism_is_the_allocators_or_set_by_hand():
    assert first_fit().applied_overhead == Overhead()
    assert first_fit(header=8, minimum=32).applied_overhead == Overhead(header=8, minimum=32)
    assert first_fit(mechanism=True, word=8).applied_overhead == Overhead(8, 8, 16, 32)
    with pytest.raises(PolicyError, match="own header"):
        first_fit(mechanism=True, header=8)
    with pytest.raises(PolicyError, match="word is 5; use 4 or 8"):
        first_fit(word=5)


def test_an_object_is_where_its_block_is_and_takes_its_overhead():
    made = trace("m0:10 m1:0 f0 m2:6")
    answer = replay(made, first_fit(header=4, alignment=8), scale=1, check=True)
    assert answer.addresses.tolist() == [0, 16, -1, 0]
    assert answer.allocated.tolist() == [16, 24, 8, 24]


def test_a_quick_block_waits_for_its_size():
    heap = front(first_fit(quick=20))
    a, b, c, d = (heap.malloc(size) for size in (20, 20, 30, 50))
    for block in (a, b, c, d):
        heap.free(block)
    assert state(heap, State.CACHED) == [(0, 20), (20, 20)]
    assert heap.heap.free_blocks() == [(40, 160)]
    assert heap.heap.free_block_count == 3
    assert heap.malloc(19) == 40, "no cached block has exactly 19 bytes"
    assert [heap.malloc(20), heap.heap.visited] == [b, 1], "the one cached last comes first"
    assert heap.malloc(20) == a
    heap.check()


def test_cached_blocks_are_released_all_together():
    heap = front(first_fit(cache=2))
    blocks = [heap.malloc(25) for _ in range(4)]
    heap.free(blocks[0])
    heap.free(blocks[1])
    assert state(heap, State.CACHED) == [(0, 25), (25, 25)]
    assert heap.heap.coalescings == 0
    heap.free(blocks[2])
    assert state(heap, State.CACHED) == []
    assert heap.heap.free_blocks() == [(0, 75)]
    assert heap.heap.coalescings == 2
    heap.check()


def test_blocks_are_released_in_the_order_in_which_they_were_freed():
    description = SequentialFit(Fit.FIRST, Order.LIFO, growth=100, cache=1)
    heap = front(description)
    blocks = [heap.malloc(10) for _ in range(10)]
    heap.free(blocks[6])
    heap.free(blocks[2])
    assert heap.heap.listed() == [20, 60]
    heap.check()


def test_quick_blocks_are_not_counted_and_not_released():
    heap = front(first_fit(quick=10, cache=1))
    blocks = [heap.malloc(size) for size in (10, 10, 10, 20, 20, 30)]
    for block in blocks[:5]:
        heap.free(block)
    assert state(heap, State.CACHED) == [(0, 10), (10, 10), (20, 10)]
    assert heap.heap.free_blocks() == [(30, 40)]
    heap.check()


def test_a_class_of_sizes_is_what_waits():
    heap = front(SegregatedStorage(Series.POWERS, growth=64, quick=64))
    block = heap.malloc(20)
    heap.free(block)
    assert state(heap, State.CACHED) == [(0, 32)]
    assert heap.malloc(30) == block
    buddies = front(BinaryBuddy(growth=64, cache=4))
    block = buddies.malloc(33)
    buddies.free(block)
    assert buddies.malloc(60) == block


def test_a_small_remainder_is_not_split_off():
    heap = heap_for(first_fit(minimum_split=16))
    assert [heap.malloc(90), heap.block_size(0)] == [0, 100]
    assert [heap.malloc(84), heap.free_blocks()] == [100, [(184, 16)]]
    assert heap.reallocate_in_place(0, 85)
    assert heap.free_blocks() == [(184, 16)]
    assert heap.reallocate_in_place(0, 84)
    assert heap.free_blocks() == [(84, 16), (184, 16)]
    assert heap.reallocate_in_place(100, 90)
    assert heap.block_size(100) == 100, "nor is it left of a successor"
    heap.check()


def test_growth_may_leave_the_tail_out():
    for count_tail, heap_size in ((True, 200), (False, 300)):
        heap = heap_for(first_fit(count_tail=count_tail))
        heap.malloc(50)
        assert heap.malloc(150) == 50
        assert heap.brk == heap_size
    binned = heap_for(BinnedFit(growth=100, count_tail=True))
    binned.malloc(50)
    assert binned.malloc(150) == 50
    assert binned.brk == 200


def test_the_break_falls_by_whole_units():
    heap = front(first_fit(trim=150, trim_keep=30))
    a, b = heap.malloc(50), heap.malloc(280)
    heap.free(b)
    assert heap.heap.free_blocks() == [(50, 50)], "350 - 30 is 3 units and 20 bytes"
    assert heap.heap.brk == 100
    heap.free(a)
    assert heap.heap.free_blocks() == [(0, 100)]
    heap.check()


def test_a_heap_may_fall_to_nothing():
    for description in (first_fit(trim=1), BinnedFit(growth=100, trim=1)):
        heap = front(description)
        heap.free(heap.malloc(70))
        assert (heap.heap.brk, heap.heap.blocks.size) == (0, {})
        assert heap.malloc(30) == 0
        heap.check()


def test_a_realloc_in_place_moves_through_the_front():
    made = trace("m0:10 m1:10 r0:20 m2:10")
    answer = replay(made, first_fit(quick=10), scale=1, realloc=Realloc.IN_PLACE, check=True)
    assert answer.addresses.tolist() == [0, 10, 20, 0]
    assert answer.visited.tolist() == [0, 1, 1, 1]


def test_bins_of_neighbouring_widths_share_a_number():
    numbers = [bin_number(LEA_BINS, size) for size in (40_000, 41_000, 44_000, 65_535, 65_536)]
    assert numbers == [119, 120, 120, 120, 121]
    assert bin_number(LEA_BINS, 170_000) == bin_number(LEA_BINS, 200_000) == 124
    assert bin_number(LEA_BINS, 600_000) == bin_number(LEA_BINS, 1 << 40) == 126
