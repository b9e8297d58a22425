"""GNU malloc on heaps small enough to follow policy/families/gnu.md by hand."""

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.space import State
from simalloc.policy.families.gnu import Gnu


def heap(*sizes, **parameters):
    """Return a heap of pages of 1 KiB, with objects of `sizes`."""
    made = heap_for(Gnu(**{"page": 1024, **parameters}))
    for size in sizes:
        made.malloc(size)
    return made


def test_a_new_page_gives_its_lowest_fragment_and_then_the_highest():
    made = heap()
    assert [made.malloc(200) for _ in range(5)] == [0, 768, 512, 256, 1024]
    assert (made.visited, made.splits) == (0, 0)


def test_a_freed_fragment_comes_behind_the_first_of_its_page():
    made = heap(*[256] * 4)
    for address in (768, 0, 512):
        made.free(address)  # [768], [768, 0], [768, 512, 0]
    assert [made.malloc(256) for _ in range(3)] == [768, 512, 0]


def test_a_fragment_comes_behind_the_first_that_was_never_used_too():
    made = heap(256, 256)  # 0 and 768
    made.free(768)  # behind 512: [512, 768, 256]
    assert [made.malloc(256) for _ in range(3)] == [512, 768, 256]
    made.check()


def test_the_page_that_came_last_to_have_room_is_used_first():
    made = heap(*[512] * 4)
    made.free(1024)
    made.free(0)
    assert [made.malloc(512) for _ in range(2)] == [0, 1024]


def test_an_empty_page_of_fragments_is_free_at_once():
    made = heap(512, 512, 1024)
    made.free(512)
    made.free(0)
    assert (made.free_blocks(), made.coalescings) == ([(0, 1024)], 0)


def test_a_search_starts_where_pages_were_freed_last():
    made = heap(*[1024] * 5)
    made.free(3072)
    made.free(1024)
    assert (made.malloc(1024), made.visited) == (1024, 1)
    assert made.malloc(1024) == 3072
    made.free(1024)
    made.free(3072)
    assert made.malloc(1024) == 3072  # used up: the index is before the lowest run
    assert made.malloc(1024) == 1024


def test_a_search_goes_on_at_what_is_left():
    made = heap(1024, 3072, 1024, 3072, 1024)
    made.free(5120)
    made.free(1024)
    assert [made.malloc(1024) for _ in range(4)] == [1024, 2048, 3072, 5120]


def test_growth_counts_the_last_run():
    made = heap(1024, 2048)
    made.free(1024)
    assert made.malloc(4096) == 1024
    assert (made.brk, made.coalescings) == (5120, 1)


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
    assert made.reallocate(1024, 1500) == 1024  # the break falls by what is not needed
    assert made.brk == 3072


def test_a_fragment_stays_above_its_half_only():
    made = heap(256)
    assert [made.reallocate_in_place(0, size) for size in (256, 129, 128)] == [True, True, False]
    assert not heap(2000).reallocate_in_place(0, 512)


def test_the_table_moves_when_it_is_full_and_leaves_free_pages():
    made = heap_for(Gnu(mechanism=True))
    assert made.malloc(10) == 12288
    made.malloc(1 << 22)
    assert made.blocks.in_state(State.TABLE) == [(16384 + (1 << 22), 24576)]
    assert made.malloc(4096) == 0
    made.malloc(8193)  # the highest run is not at the break, but two pages at 4096
    assert made.free_blocks() == [(4096, 8192)]
    made.check()


def test_what_a_tables_last_page_has_to_spare_describes_no_more_pages():
    page = 1 << 16  # 1024 entries of 12 bytes take 12288 of it
    made = heap_for(Gnu(mechanism=True, page=page))
    made.malloc(page)
    made.malloc(1023 * page)
    assert made.blocks.in_state(State.TABLE) == [(1025 * page, page)]
    assert made.free_blocks() == [(0, page)]
    made.check()
