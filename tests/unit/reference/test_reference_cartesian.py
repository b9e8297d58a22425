"""The Cartesian tree of SunOS 4 on heaps small enough to follow the rules by hand."""

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.space import State
from simalloc.policy.families.cartesian import Cartesian, Machine


def heap(*sizes, **parameters):
    """Return a heap that grows by 100 bytes, with blocks of `sizes` allocated from its start."""
    made = heap_for(Cartesian(**{"growth": 100} | parameters))
    for size in sizes:
        made.malloc(size)
    return made


def test_the_descent_goes_to_the_smaller_child_that_fits():
    made = heap(10, 1, 40, 1, 20, 1, 27)  # at 0, 10, 11, 51, 52, 72, 73
    for address in (0, 52, 11):
        made.free(address)  # 40 at 11 is the root, 10 on its left, 20 on its right
    assert (made.malloc(9), made.visited) == (0, 2)
    assert (made.malloc(9), made.visited) == (52, 2)
    assert (made.malloc(15), made.visited) == (11, 1)


def test_better_is_not_best():
    made = heap(30, 1, 40, 1, 10, 18)  # the root is 40 bytes at 31
    for address in (0, 31, 72):
        made.free(address)
    assert made.malloc(10) == 72
    made = heap(40, 1, 30, 1, 10, 1, 17)  # 40 at 0, under it 30 at 41, under that 10 at 72
    for address in (0, 41, 72):
        made.free(address)
    assert (made.malloc(10), made.visited) == (72, 3)


def test_the_left_one_of_equals_goes_first_and_a_rest_sinks():
    made = heap(20, 1, 30, 1, 20, 28)
    for address in (0, 21, 52):
        made.free(address)  # 30 at 21 over 20 on both sides
    assert made.malloc(15) == 0
    made.free(0)
    assert made.malloc(25) == 21  # 46 to 51 sinks below both
    assert (made.malloc(4), made.visited) == (46, 3)
    made.check()


def test_growth_ignores_the_tail_and_then_merges_with_it():
    made = heap(75)
    assert (made.malloc(26), made.brk, made.coalescings) == (75, 200, 1)


def test_nodes_lie_in_the_heap_with_a_mechanism():
    made = heap(20, mechanism=True, growth=4096)
    assert made.blocks.in_state(State.TABLE) == [(0, 512 * 16 + 4)]
    assert (made.brk, made.growths) == (8196 + 4096, 2)
    made = heap(24, mechanism=True, growth=4096, machine=Machine.SPARC)
    assert made.blocks.in_state(State.TABLE) == [(0, 512 * 16 + 8)]


def test_another_array_of_nodes_splits_the_heap():
    made = heap(*[8] * 1100, mechanism=True, growth=16384)
    for address in range(8196, 8196 + 1024 * 8, 16):
        made.free(address)  # 512 blocks and the tail
    assert len(made.blocks.in_state(State.TABLE)) == 2
    assert made.brk == 2 * 8196 + 16384


def test_no_rest_of_the_smallest_size_is_split_off():
    made = heap(16, 80, mechanism=True, growth=4096)
    first = 8196
    made.free(first)
    assert (made.malloc(8), made.block_size(first)) == (first, 16)


def test_a_free_looks_at_the_nodes_on_its_ways():
    made = heap(10, 1, 40, 1, 20, 1, 27)  # at 0, 10, 11, 51, 52, 72, 73
    visited = []
    for address in (0, 52, 11, 10):
        before = made.visited_at_free
        made.free(address)
        visited.append(made.visited_at_free - before)
    assert visited == [0, 1, 1, 2 + 1 + 1]  # of the last, both neighbours leave first
    assert (made.deallocations, made.coalescing_frees) == (4, 1)
