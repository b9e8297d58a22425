"""The binned fit on heaps small enough to follow the rules by hand."""

import pytest
from small_traces import heap_with

from simalloc.policy.families.binned_fit import BinnedFit, LastRemainder
from simalloc.policy.parts import Overhead


def heap(*sizes, last_remainder=LastRemainder.SMALL, small=50):
    """Return a heap that grows by 100 bytes, with blocks of `sizes` allocated from its start."""
    return heap_with(BinnedFit(last_remainder=last_remainder, small=small, growth=100), *sizes)


def test_the_wilderness_is_used_last_and_the_last_remainder_before_a_fit():
    made = heap(20, 10, 30, 10)  # at 0, 20, 30, 60; the wilderness is 70 to 100
    made.free(30)
    assert (made.malloc(12), made.visited) == (30, 1)  # from a bin; 42 to 60 remains last
    assert (made.malloc(10), made.visited) == (42, 1)  # cut from 42 to 60; 52 to 60 remains
    assert (made.malloc(9), made.visited) == (70, 2)  # 52 to 60 is binned; wilderness
    assert (made.malloc(8), made.visited) == (52, 1)  # an exact fit in the bins
    assert made.free_blocks() == [(79, 21)]


def test_growth_does_not_count_the_wilderness_but_joins_it():
    made = heap(75)
    assert (made.malloc(26), made.visited) == (75, 1)
    assert (made.brk, made.growths, made.coalescings) == (200, 2, 1)
    assert made.malloc(99) == 101
    assert made.malloc(1) == 200
    assert (made.visited, made.brk, made.free_blocks()) == (0, 300, [(201, 99)])


def test_equal_blocks_go_oldest_first():
    made = heap(10, 5, 10, 5, 10, 60)
    for address in (30, 0, 15):
        made.free(address)
    assert [made.malloc(10) for _ in range(3)] == [30, 0, 15]
    for address in (15, 30, 0):
        made.free(address)
    assert made.malloc(9) == 15  # a fit that is not exact is taken, too


@pytest.mark.parametrize(
    ("last_remainder", "found"),
    [(LastRemainder.SMALL, 30), (LastRemainder.ANY, 30), (LastRemainder.NONE, 71)],
)
def test_the_last_remainder_comes_before_a_better_fit(last_remainder, found):
    made = heap(10, 60, 1, 9, 20, last_remainder=last_remainder)
    made.free(10)
    assert made.malloc(20) == 10  # 30 to 70 is left
    made.free(71)
    assert made.malloc(8) == found


@pytest.mark.parametrize(
    ("last_remainder", "found", "visited", "then"),
    [
        (LastRemainder.SMALL, 71, 1, 30),
        (LastRemainder.ANY, 30, 1, 55),
        (LastRemainder.NONE, 71, 1, 30),
    ],
)
def test_a_request_that_is_not_small_takes_the_best_fit(last_remainder, found, visited, then):
    made = heap(10, 60, 1, 26, 3, last_remainder=last_remainder, small=25)
    made.free(10)
    assert made.malloc(20) == 10  # 30 to 70 is left
    made.free(71)
    assert (made.malloc(25), made.visited) == (found, visited)
    assert made.malloc(7) == then  # the remainder of 71 is one byte


def test_a_last_remainder_that_may_not_be_used_is_binned_and_found_there():
    made = heap(10, 60, 30, small=25)
    made.free(10)
    assert made.malloc(20) == 10
    assert (made.malloc(40), made.visited) == (30, 1)
    assert made.free_blocks() == []


def test_a_last_remainder_of_just_the_size_is_used_whole():
    made = heap(10, 60, 30)
    made.free(10)
    assert made.malloc(20) == 10
    assert (made.malloc(40), made.visited) == (30, 1)
    assert made.free_blocks() == []


def test_what_is_freed_beside_the_last_remainder_becomes_it():
    made = heap(10, 60, 1, 9, 20)
    made.free(10)
    assert made.malloc(20) == 10
    made.free(71)
    made.free(10)  # 30 to 70 is the last remainder
    assert made.malloc(8) == 10


def test_what_is_freed_beside_the_wilderness_becomes_it():
    made = heap(10, 60, 1, 9)
    made.free(71)
    assert made.free_blocks() == [(71, 29)]
    made.free(10)
    assert made.malloc(9) == 10
    made.free(70)  # merges the last remainder with the wilderness
    assert made.free_blocks() == [(19, 81)]
    made.free(0)
    assert made.malloc(9) == 0


def test_in_place_leaves_the_successor_what_it_was():
    made = heap(10, 60, 1, 9)
    assert made.reallocate_in_place(71, 19)
    assert made.free_blocks() == [(90, 10)]
    made.free(10)
    assert made.malloc(20) == 10
    assert made.reallocate_in_place(10, 30)  # grows into the last remainder, which is now 40 to 70
    made.free(71)
    assert made.malloc(9) == 40
    assert made.reallocate_in_place(40, 5)
    assert made.free_blocks() == [(45, 25), (71, 29)]
    assert (made.splits, made.growths) == (9, 1)


def test_in_place_bins_the_rest_of_a_binned_successor_anew():
    made = heap(5, 10, 5, 9, 5, 66)
    made.free(5)
    made.free(20)
    assert made.reallocate_in_place(0, 6)  # 6 to 15 is as large as 20 to 29 but younger
    assert [made.malloc(9), made.malloc(9)] == [20, 6]


def test_a_block_in_use_has_a_header_of_one_word_and_no_footer():
    assert BinnedFit(mechanism=True).overhead == Overhead(header=4, alignment=8, minimum=16)
    assert BinnedFit(word=8).overhead == Overhead(header=8, alignment=16, minimum=32)
