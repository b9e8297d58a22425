"""CSRI malloc on heaps small enough to follow policy/families/csri.md by hand."""

from small_traces import heap_with

from simalloc.policy.families.csri import Csri


def heap(*sizes, growth=100, **parameters):
    """Return a heap that grows by 100 bytes, with objects of `sizes`; bins hold 32, 64, ..."""
    return heap_with(Csri(growth=growth, **parameters), *sizes)


def test_the_rover_does_not_follow_a_search():
    made = heap(20, 5, 30, 5, 20, 5, growth=200)
    made.free(25)
    made.free(0)
    made.free(60)  # from the rover: 60, 0, 25
    assert (made.malloc(25), made.visited) == (25, 3)
    assert (made.malloc(20), made.visited) == (60, 1)


def test_the_block_at_the_end_of_memory_is_not_where_a_search_starts():
    made = heap(*[20] * 4, 19)
    made.free(0)
    made.free(80)  # merges with the byte at the end and with the rover
    assert (made.malloc(20), made.visited) == (0, 1)
    assert (made.malloc(20), made.visited) == (80, 1)


def test_what_is_left_keeps_its_place_or_enters_before_the_rover():
    made = heap(30, 5, 60, 5, growth=200)
    made.free(0)
    made.free(35)
    assert made.malloc(40) == 35  # 20 bytes are left at 75 and enter before 0
    assert (made.malloc(15), made.visited) == (0, 1)
    assert (made.malloc(15), made.visited) == (15, 1)
