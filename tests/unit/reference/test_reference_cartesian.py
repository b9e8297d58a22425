"""The Cartesian tree of SunOS 4 on heaps small enough to follow the rules by hand."""

from small_traces import heap_with

from simalloc.policy.families.cartesian import Cartesian


def heap(*sizes, **parameters):
    """Return a heap that grows by 100 bytes, with blocks of `sizes` allocated from its start."""
    return heap_with(Cartesian(**{"growth": 100} | parameters), *sizes)


def test_the_descent_goes_to_the_smaller_child_that_fits():
    made = heap(10, 1, 40, 1, 20, 1, 27)  # at 0, 10, 11, 51, 52, 72, 73
    for address in (0, 52, 11):
        made.free(address)  # 40 at 11 is the root, with 10 on its left and 20 on its right
    assert (made.malloc(9), made.visited) == (0, 2)
    assert (made.malloc(9), made.visited) == (52, 2)
    assert (made.malloc(15), made.visited) == (11, 1)


def test_the_left_one_of_equals_goes_first_and_a_rest_sinks():
    made = heap(20, 1, 30, 1, 20, 28)
    for address in (0, 21, 52):
        made.free(address)  # 30 at 21 is above 20 on both sides
    assert made.malloc(15) == 0
    made.free(0)
    assert made.malloc(25) == 21  # 46 to 51 sinks below both children
    assert (made.malloc(4), made.visited) == (46, 3)
    made.check()


def test_a_free_looks_at_the_nodes_on_its_ways():
    made = heap(10, 1, 40, 1, 20, 1, 27)  # at 0, 10, 11, 51, 52, 72, 73
    visited = []
    for address in (0, 52, 11, 10):
        before = made.visited_at_free
        made.free(address)
        visited.append(made.visited_at_free - before)
    assert visited == [0, 1, 1, 2 + 1 + 1]  # both neighbours of the last block leave the tree first
    assert (made.deallocations, made.coalescing_frees) == (4, 1)
