"""GNU malloc on heaps small enough to follow policy/families/gnu.md by hand."""

from small_traces import heap_with

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.space import State
from simalloc.policy.families.gnu import Gnu


def heap(*sizes, **parameters):
    """Return a heap of pages of 1 KiB, with objects of `sizes`."""
    return heap_with(Gnu(**{"page": 1024, **parameters}), *sizes)


def test_a_search_starts_where_pages_were_freed_last():
    made = heap(*[1024] * 5)
    made.free(3072)
    made.free(1024)
    assert (made.malloc(1024), made.visited) == (1024, 1)
    assert made.malloc(1024) == 3072
    made.free(1024)
    made.free(3072)
    assert made.malloc(1024) == 3072  # used up: the index precedes the lowest run
    assert made.malloc(1024) == 1024


def test_a_long_last_run_is_given_back_whole():
    made = heap(1024, 2048, 1024, returned=3072)
    made.free(1024)
    assert made.brk == 4096
    made.free(3072)
    assert (made.brk, made.free_blocks()) == (1024, [])
    assert made.malloc(1024) == 1024


def test_pages_that_must_grow_are_freed_first():
    made = heap(1024, 2048, returned=1024)
    assert made.reallocate(1024, 5000) == 1024
    assert made.brk == 6144
    assert made.reallocate(1024, 1500) == 1024  # the break falls by the unneeded pages
    assert made.brk == 3072


def test_what_a_tables_last_page_has_to_spare_describes_no_more_pages():
    page = 1 << 16  # 1024 entries of 12 bytes take 12288 bytes of the page
    made = heap_for(Gnu(mechanism=True, page=page))
    made.malloc(page)
    made.malloc(1023 * page)
    assert made.blocks.in_state(State.TABLE) == [(1025 * page, page)]
    assert made.free_blocks() == [(0, page)]
    made.check()
