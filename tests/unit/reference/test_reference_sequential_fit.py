"""Sequential fits on heaps small enough to follow the rules by hand."""

import pytest
from small_traces import heap_with

from simalloc.policy import Fit, Order
from simalloc.policy.families.sequential_fit import SequentialFit
from simalloc.policy.parts import CoalescingTime

LIFO, FIFO, AO = Order.LIFO, Order.FIFO, Order.ADDRESS


def heap(fit, order=AO, *, sizes=()):
    """Return a heap that grows by 100 bytes, with blocks of `sizes` allocated from its start."""
    return heap_with(SequentialFit(fit, order, growth=100), *sizes)


def three_holes(fit, order, freed):
    """Return a full heap of 100 bytes after freeing blocks 0 (20 bytes), 21 (30) or 52 (20)."""
    made = heap(fit, order, sizes=(20, 1, 30, 1, 20, 1, 27))
    assert made.free_blocks() == []
    for address in freed:
        made.free(address)
    return made


def circle(made):
    """Return the list of a next fit, starting at the rover."""
    start = made.listed().index(made.rover)
    return [*made.listed()[start:], *made.listed()[:start]]


@pytest.mark.parametrize("fit", Fit)
def test_the_low_end_is_used_and_an_exact_fit_leaves_nothing(fit):
    made = heap(fit)
    assert made.malloc(30) == 0
    assert made.free_blocks() == [(30, 70)]
    assert made.malloc(70) == 30
    assert made.free_blocks() == []
    assert (made.brk, made.growths, made.splits, made.coalescings) == (100, 1, 1, 0)


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("fit", Fit)
def test_growth_counts_the_free_tail_and_merges_with_it(fit, order):
    made = heap(fit, order, sizes=(100, 10))
    assert (made.brk, made.free_blocks()) == (200, [(110, 90)])
    assert made.malloc(190) == 110  # 190 - 90 bytes are exactly one unit
    assert (made.brk, made.growths, made.coalescings) == (300, 3, 1)
    made.free(110)
    assert made.malloc(191) == 110  # one more byte needs another unit
    assert (made.brk, made.free_blocks()) == (400, [(301, 99)])


def test_growth_ignores_a_free_block_that_does_not_end_at_the_break():
    made = heap(Fit.FIRST, sizes=(60, 40))
    made.free(0)
    assert made.malloc(100) == 100
    assert made.brk == 200
    assert made.malloc(250) == 200
    assert made.brk == 500


def test_freeing_between_two_free_blocks_makes_one():
    made = heap(Fit.FIRST, sizes=(10, 20, 30, 40))
    made.free(0)
    made.free(30)
    assert made.coalescings == 0
    made.free(10)
    assert (made.free_blocks(), made.coalescings) == ([(0, 60)], 2)


def unmerged(fit, order, coalescing):
    """Return a full heap of 100 bytes after freeing blocks 60 (10 bytes), 20 (30) and 0 (20)."""
    policy = SequentialFit(fit, order, growth=100, coalescing=coalescing)
    made = heap_with(policy, 20, 30, 10, 10, 30)
    for address in (60, 20, 0):
        made.free(address)
    assert made.free_blocks() == [(0, 20), (20, 30), (60, 10)]
    return made


@pytest.mark.parametrize(
    ("order", "before", "after"),
    [
        (LIFO, [0, 20, 60], [0, 60]),
        (FIFO, [60, 20, 0], [60, 0]),
        (AO, [0, 20, 60], [0, 60]),
    ],
)
@pytest.mark.parametrize("fit", [Fit.FIRST, Fit.BEST, Fit.WORST])
def test_deferred_coalescing_merges_when_a_request_fails(fit, order, before, after):
    made = unmerged(fit, order, CoalescingTime.DEFERRED)
    assert made.listed() == before
    assert made.malloc(35) == 0  # the scan merges the blocks at 0 and 20 into 50 bytes
    assert (made.visited, made.coalescings, made.brk) == (3, 1, 100)
    assert made.listed() == [35 if address == 0 else address for address in after]
    made.free(0)
    assert made.coalescings == 1


def test_deferred_coalescing_moves_the_rover_past_the_blocks_that_leave():
    made = unmerged(Fit.NEXT, LIFO, CoalescingTime.DEFERRED)
    assert circle(made) == [0, 20, 60]
    assert made.malloc(35) == 0
    assert circle(made) == [35, 60]  # the rover moved to 60; the merged block entered before it


def test_memory_grows_after_a_scan_that_did_not_help_and_merges_with_the_tail():
    made = heap_with(
        SequentialFit(Fit.FIRST, AO, growth=100, coalescing=CoalescingTime.DEFERRED), 40, 30, 30
    )
    made.free(40)
    made.free(70)
    assert made.malloc(150) == 40  # 60 bytes, merged by the scan, count towards the request
    assert (made.brk, made.growths, made.coalescings) == (200, 2, 2)


def test_without_coalescing_new_memory_stays_apart_too():
    made = unmerged(Fit.FIRST, AO, CoalescingTime.NONE)
    made.free(70)
    assert made.malloc(35) == 100
    assert (made.coalescings, made.brk) == (0, 200)
    assert made.free_blocks() == [(0, 20), (20, 30), (60, 10), (70, 30), (135, 65)]


@pytest.mark.parametrize(
    ("coalescing", "largest"),
    [(CoalescingTime.IMMEDIATE, 80), (CoalescingTime.DEFERRED, 80), (CoalescingTime.NONE, 50)],
)
def test_the_room_under_a_capacity_counts_with_the_tail_only_if_they_merge(coalescing, largest):
    policy = SequentialFit(Fit.FIRST, AO, growth=50, coalescing=coalescing)
    made = heap_with(policy, 70, 30)
    made.blocks.limit = 150
    made.free(70)
    assert made.largest_free_block == largest


@pytest.mark.parametrize(
    ("order", "freed", "listed", "found"),
    [
        (LIFO, (52, 0, 21), [21, 0, 52], 21),
        (FIFO, (52, 0, 21), [52, 0, 21], 52),
        (AO, (52, 21, 0), [0, 21, 52], 0),
    ],
)
def test_first_fit_takes_the_first_in_list_order(order, freed, listed, found):
    made = three_holes(Fit.FIRST, order, freed)
    assert made.listed() == listed
    assert made.malloc(20) == found
    assert made.visited == 1


def test_what_is_left_over_keeps_its_place_in_the_list():
    made = three_holes(Fit.FIRST, LIFO, (52, 0, 21))
    assert made.malloc(20) == 21
    assert made.listed() == [41, 0, 52]
    assert made.malloc(15) == 0
    assert (made.listed(), made.visited) == ([41, 15, 52], 2)


@pytest.mark.parametrize(
    ("order", "freed", "found"),
    [
        (LIFO, (0, 52, 21), 52),
        (LIFO, (52, 0, 21), 0),
        (FIFO, (0, 52, 21), 0),
        (FIFO, (52, 0, 21), 52),
        (AO, (52, 0, 21), 0),
        (AO, (0, 52, 21), 0),
    ],
)
def test_best_fit_takes_the_smallest_and_the_first_of_equals(order, freed, found):
    made = three_holes(Fit.BEST, order, freed)
    assert made.malloc(19) == found
    assert made.visited == 3
    assert made.malloc(21) == 21


def test_worst_fit_takes_the_largest_and_leaves_the_largest_remainder():
    made = three_holes(Fit.WORST, AO, (52, 0, 21))
    assert (made.malloc(5), made.visited) == (21, 3)  # 30 bytes; best fit takes the 20 bytes at 0
    assert made.free_blocks() == [(0, 20), (26, 25), (52, 20)]
    assert made.malloc(25) == 26
    assert (made.malloc(21), made.visited, made.brk) == (100, 2, 200)  # 20 bytes do not suffice


@pytest.mark.parametrize(
    ("order", "freed", "found"),
    [
        (LIFO, (0, 52), [52, 0]),
        (FIFO, (0, 52), [0, 52]),
        (LIFO, (52, 0), [0, 52]),
        (FIFO, (52, 0), [52, 0]),
        (AO, (52, 0), [0, 52]),
    ],
)
def test_worst_fit_takes_the_first_of_equals(order, freed, found):
    made = three_holes(Fit.WORST, order, freed)
    assert [made.malloc(12), made.malloc(12)] == found
    assert made.malloc(8) == found[0] + 12  # both remainders keep their positions


def test_next_fit_by_address_goes_on_from_what_is_left_over_and_around_the_end():
    made = three_holes(Fit.NEXT, AO, (0, 21, 52))
    assert made.rover == 0  # the first block that entered the empty list
    assert (made.malloc(25), made.visited, made.rover) == (21, 2, 46)
    assert (made.malloc(5), made.visited, made.rover) == (46, 1, 52)  # exact: the rover moves on
    assert (made.malloc(20), made.visited, made.rover) == (52, 1, 0)  # exact fit, last block
    assert (made.malloc(10), made.visited, made.rover) == (0, 1, 10)


def test_next_fit_fifo_frees_just_behind_the_rover():
    made = three_holes(Fit.NEXT, FIFO, (0, 21, 52))
    assert circle(made) == [0, 21, 52]
    assert (made.malloc(25), made.visited) == (21, 2)
    assert circle(made) == [46, 52, 0]
    assert (made.malloc(20), made.visited) == (52, 2)
    assert circle(made) == [0, 46]


def test_next_fit_lifo_frees_at_the_rover():
    made = three_holes(Fit.NEXT, LIFO, (0, 21, 52))
    assert circle(made) == [52, 21, 0]
    assert (made.malloc(25), made.visited) == (21, 2)
    assert circle(made) == [46, 0, 52]
    assert (made.malloc(20), made.visited) == (0, 2)
    assert circle(made) == [52, 46]


@pytest.mark.parametrize(
    ("order", "expected"),
    [(AO, [50, 10]), (FIFO, [50, 10]), (LIFO, [10, 50])],
)
def test_the_rover_moves_on_past_all_blocks_that_coalesce(order, expected):
    made = heap(Fit.NEXT, order, sizes=(10, 10, 10, 10, 10, 10, 40))
    for address in (10, 30, 50) if order is not LIFO else (50, 30, 10):
        made.free(address)
    assert circle(made) == [10, 30, 50]
    made.free(20)
    assert circle(made) == expected


def test_the_rover_stands_on_the_next_block_that_enters_an_empty_list():
    made = heap(Fit.NEXT, AO, sizes=(10, 10, 80))
    assert made.rover is None
    made.free(10)
    made.free(0)  # block 10, to which the rover points, leaves a list of one block
    assert circle(made) == [0]


@pytest.mark.parametrize(
    ("order", "rover", "after"),
    [(AO, 90, [140, 0]), (FIFO, 90, [140, 0]), (LIFO, 0, [140, 0])],
)
def test_growth_moves_the_rover_by_the_rules_of_a_freed_block(order, rover, after):
    made = heap(Fit.NEXT, order, sizes=(10, 80))
    made.free(0)
    assert made.rover == rover
    assert (made.malloc(50), made.visited) == (90, 2)
    assert circle(made) == after


@pytest.mark.parametrize("fit", Fit)
def test_in_place_cuts_the_high_end_off_and_takes_the_low_end_of_a_free_successor(fit):
    made = heap(fit, sizes=(40, 10))
    assert made.reallocate_in_place(0, 25)
    assert made.free_blocks() == [(25, 15), (50, 50)]
    assert made.reallocate_in_place(40, 30)
    assert made.free_blocks() == [(25, 15), (70, 30)]
    assert made.splits == 4
    assert not made.reallocate_in_place(40, 61)
    assert not made.reallocate_in_place(0, 41)
    assert made.reallocate_in_place(40, 60)
    assert made.reallocate_in_place(40, 60)
    assert made.free_blocks() == [(25, 15)]
    assert made.reallocate_in_place(40, 50)
    assert made.free_blocks() == [(25, 15), (90, 10)]
    assert (made.splits, made.coalescings, made.brk) == (5, 0, 100)


def test_in_place_keeps_the_successors_place_in_the_list():
    made = three_holes(Fit.FIRST, LIFO, (52, 0, 21))
    assert made.reallocate_in_place(20, 11)
    assert made.listed() == [31, 0, 52]


def test_in_place_takes_the_rover_along_unless_nothing_is_left():
    made = three_holes(Fit.NEXT, AO, (21, 0, 52))
    assert circle(made) == [21, 52, 0]
    assert made.reallocate_in_place(20, 11)
    assert circle(made) == [31, 52, 0]
    assert made.reallocate_in_place(20, 31)
    assert circle(made) == [52, 0]


def test_in_place_does_not_call_the_rover():
    made = three_holes(Fit.NEXT, AO, (0, 21, 52))
    assert made.reallocate_in_place(20, 11)
    assert circle(made) == [0, 31, 52]
