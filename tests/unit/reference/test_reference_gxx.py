"""G++, and quick fit over it, on heaps small enough to follow the rules by hand."""

from small_traces import heap_with, trace

from simalloc.heap.reference import heap_for, replay
from simalloc.heap.reference.space import State
from simalloc.heap.run_options import Realloc
from simalloc.policy.families.gxx import Gxx
from simalloc.policy.families.quick_fit import QuickFit


def heap(*sizes, **parameters):
    """Return a heap that grows by 1000 bytes, with blocks of `sizes` allocated from its start."""
    return heap_with(Gxx(**{"growth": 1000, "preallocate": 0} | parameters), *sizes)


def test_the_block_returned_last_is_used_if_it_fits_exactly():
    made = heap(20, 30, 20)
    made.free(0)
    made.free(50)
    assert (made.malloc(20), made.visited) == (50, 1)
    assert (made.malloc(19), made.visited) == (70, 3)  # 0 gets dirty; last remainder
    assert (made.malloc(20), made.visited) == (0, 1)  # taken from the dirty list of its bin


def test_more_of_the_same_size_are_cut_in_advance():
    made = heap(30, 30, preallocate=2)
    assert made.cached() == [60, 90], "the second split for 30 bytes cuts two more"
    assert [made.malloc(30), made.malloc(30), made.malloc(30)] == [90, 60, 120]


def quick(**parameters):
    """Return a quick fit with areas of 100 bytes over a G++ that grows by 1000 bytes."""
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
