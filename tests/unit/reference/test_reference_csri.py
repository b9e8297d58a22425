"""CSRI malloc on heaps small enough to follow policy/families/csri.md by hand."""

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.space import State
from simalloc.policy.families.csri import Csri


def heap(*sizes, growth=100, **parameters):
    """Return a heap that grows by 100 bytes, with objects of `sizes`; bins hold 32, 64, ..."""
    made = heap_for(Csri(growth=growth, **parameters))
    for size in sizes:
        made.malloc(size)
    return made


def test_the_heap_grows_by_more_than_what_is_asked():
    made = heap(100)
    assert (made.brk, made.free_blocks()) == (200, [(100, 100)])
    assert made.malloc(101) == 100  # the rest counts for nothing, but joins the new memory
    assert (made.brk, made.coalescings) == (400, 1)


def test_a_bin_is_searched_from_the_block_freed_last():
    made = heap(*[20] * 6, growth=200)
    made.free(0)
    made.free(40)
    assert (made.malloc(18), made.visited) == (40, 1)


def test_the_rover_does_not_follow_a_search():
    made = heap(20, 5, 30, 5, 20, 5, growth=200)
    made.free(25)
    made.free(0)
    made.free(60)  # from the rover on: 60, 0, 25
    assert (made.malloc(25), made.visited) == (25, 3)
    assert (made.malloc(20), made.visited) == (60, 1)


def test_a_rover_whose_block_leaves_goes_back():
    made = heap(20, 5, 20, 5, 20, 5, growth=200)
    for address in (0, 25, 50):
        made.free(address)  # 50, 25, 0 and around
    assert [made.malloc(20) for _ in range(3)] == [50, 0, 25]


def test_the_block_at_the_end_of_memory_is_not_where_a_search_starts():
    made = heap(*[20] * 4, 19)
    made.free(0)
    made.free(80)  # with the byte at the end, and the rover
    assert (made.malloc(20), made.visited) == (0, 1)
    assert (made.malloc(20), made.visited) == (80, 1)


def test_what_is_left_keeps_its_place_or_enters_before_the_rover():
    made = heap(30, 5, 60, 5, growth=200)
    made.free(0)
    made.free(35)
    assert made.malloc(40) == 35  # 20 bytes are left at 75, and enter before 0
    assert (made.malloc(15), made.visited) == (0, 1)
    assert (made.malloc(15), made.visited) == (15, 1)


def test_a_block_that_grows_over_its_successor_keeps_its_place():
    made = heap(10, 10, 20, 5, 20, 5, growth=200)
    made.free(20)
    made.free(45)  # 45, 20
    made.free(10)  # 30 bytes at 10 in the place of 20: the rover stays
    assert made.malloc(5) == 45
    made.check()


def test_realloc_takes_only_a_successor():
    made = heap(20, 20, 20, growth=200)
    made.free(0)
    made.free(40)
    assert made.reallocate_in_place(20, 60)
    assert made.reallocate_in_place(20, 30)
    assert not made.reallocate_in_place(20, 1000)
    assert made.free_blocks() == [(0, 20), (50, 150)]


def test_tags_stand_at_both_ends_of_the_memory():
    made = heap_for(Csri(mechanism=True))
    assert made.malloc(16) == 8
    assert made.blocks.in_state(State.TABLE) == [(0, 8), (4092, 4)]
    assert made.malloc(4080) == 24
    assert made.blocks.in_state(State.TABLE) == [(0, 8), (8188, 4)]
    made.malloc(4084)  # 12 bytes less than four units: exactly one unit more is asked for
    assert made.brk == 8192
    made.check()


def test_growth_is_1024_words_if_not_given():
    assert heap(10, growth=0).brk == 4096
    assert heap(10, growth=0, word=8).brk == 8192
