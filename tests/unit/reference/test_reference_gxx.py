"""G++, and quick fit over it, on heaps small enough to follow the rules by hand."""

import pytest
from small_traces import trace

from simalloc.heap.reference import heap_for, replay
from simalloc.heap.reference.families.gxx import bin_of
from simalloc.heap.reference.space import State
from simalloc.heap.run import Realloc
from simalloc.policy.families.gxx import Gxx
from simalloc.policy.families.quick_fit import QuickFit


def heap(*sizes, **parameters):
    """Return a heap that grows by 1000 bytes, with blocks of `sizes` allocated from its start."""
    made = heap_for(Gxx(**{"growth": 1000, "preallocate": 0} | parameters))
    for size in sizes:
        made.malloc(size)
    return made


@pytest.mark.parametrize(
    ("size", "number"),
    [
        (143, 143),
        (144, 144),
        (159, 144),
        (160, 145),
        (255, 147),
        (256, 148),
        (319, 148),
        (512, 152),
    ],
)
def test_bins(size, number):
    assert bin_of(size) == number


def test_the_block_returned_last_is_used_if_it_fits_exactly():
    made = heap(20, 30, 20)
    made.free(0)
    made.free(50)
    assert (made.malloc(20), made.visited) == (50, 1)
    assert (made.malloc(19), made.visited) == (70, 3)  # 0 becomes dirty; the last remainder
    assert (made.malloc(20), made.visited) == (0, 1)  # the dirty list of its bin


def test_dirty_blocks_go_newest_first_and_clean_ones_oldest_first():
    made = heap(*[20, 10] * 3, 910)  # all of the heap
    for address in (0, 30, 60):
        made.free(address)
    made.malloc(300)  # all three become dirty, the newest first; then they merge, and it grows
    assert [made.malloc(20) for _ in range(3)] == [60, 30, 0]


def test_a_bin_without_an_exact_fit_is_cleaned_with_all_that_was_returned():
    made = heap(200, 100, 205, 100, 395)
    made.free(0)
    made.malloc(500)  # 0 is made dirty, and merged: the rest of the heap is the last remainder
    made.free(300)
    made.malloc(50)  # 300 is dirty now
    made.free(200)
    assert made.malloc(210) == 1550, "the last remainder has entered the clean blocks"
    assert made.free_blocks()[0] == (0, 505), "200 and 300 have merged, and with 0"


def test_merging_waits_until_nothing_else_fits():
    made = heap(*[100] * 10)
    for address in (0, 100, 200, 500):
        made.free(address)
    assert made.coalescings == 0
    assert made.malloc(250) == 0, "the bin of 100 is consolidated, the oldest first"
    assert (made.coalescings, made.free_blocks()) == (2, [(250, 50), (500, 100)])


def test_more_of_the_same_size_are_cut_in_advance():
    made = heap(30, 30, preallocate=2)
    assert made.cached() == [60, 90], "the second split for 30 bytes cuts two more"
    assert [made.malloc(30), made.malloc(30), made.malloc(30)] == [90, 60, 120]


def test_growth_ignores_the_tail_and_merges_with_one_block():
    made = heap(600, 399, 1)
    made.free(600)
    made.malloc(1)
    assert (made.malloc(900), made.brk) == (1000, 2000)
    made = heap(mechanism=True, growth=8192)
    assert (made.malloc(24), made.blocks.in_state(State.TABLE)) == (8, [(0, 8)])
    assert heap(8192, mechanism=True, growth=8192).brk == 16384


def test_a_realloc_takes_all_free_blocks_and_pays_its_tags_twice():
    made = trace("m0:100 m1:50 m2:50 m3:100 f1 f2 r0:180 r0:300")
    described = Gxx(growth=1000, preallocate=0)
    answer = replay(made, described, scale=1, realloc=Realloc.IN_PLACE, check=True)
    assert answer.addresses[-2:].tolist() == [0, 300]
    tagged = Gxx(mechanism=True)
    answer = replay(trace("m0:8 m1:8 r0:16"), tagged, scale=1, realloc=Realloc.IN_PLACE)
    assert answer.allocated.tolist() == [16, 32, 48], "24 bytes and 8 more"


def quick(**parameters):
    """Return a quick fit with areas of 100 bytes over a G++ that grows by 1000."""
    return heap_for(QuickFit(**{"growth": 1000, "area": 100, "preallocate": 0} | parameters))


def test_cells_are_cut_from_the_tail_and_go_newest_first():
    made = quick()
    assert [made.malloc(size) for size in (8, 7, 32, 32)] == [0, 8, 16, 48]
    assert made.malloc(24) == 100, "20 bytes are wasted"
    assert made.blocks.in_state(State.WASTE) == [(80, 20)]
    made.free(0)
    made.free(8)
    assert [made.malloc(5), made.malloc(8), made.visited] == [8, 0, 1]


def test_larger_blocks_are_those_of_gxx():
    made = quick()
    assert (made.malloc(33), made.malloc(40)) == (0, 33)
    made.free(0)
    assert made.malloc(33) == 0


def test_a_cell_has_one_word_and_a_larger_block_two():
    answer = replay(trace("m0:4 m1:33"), QuickFit(mechanism=True), scale=1)
    assert answer.allocated.tolist() == [8, 8 + 48]
    answer = replay(
        trace("m0:8 m1:8 r0:7 r0:12 r0:40"),
        QuickFit(),
        scale=1,
        realloc=Realloc.IN_PLACE,
        check=True,
    )
    assert answer.addresses.tolist() == [0, 8, 0, 16, 4096]
