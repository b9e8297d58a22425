"""tcmalloc on heaps small enough to follow the rules by hand."""

from pathlib import Path

import pytest

from simalloc.errors import PolicyError, SimallocError
from simalloc.heap.reference import heap_for
from simalloc.heap.reference.families.tcmalloc.classes import size_classes
from simalloc.heap.reference.heap import Request
from simalloc.policy.families.tcmalloc import Tcmalloc, TcmallocVersion

MEASURED = Path(__file__).parents[2] / "data" / "mallocs" / "tcmalloc"
PAGE = 8192
MIB = 1 << 20


def heap(**parameters):
    """Return an empty heap without what a program has before its own first call."""
    return heap_for(Tcmalloc(**parameters))


def test_the_classes_are_those_of_the_library():
    lines = (MEASURED / "classes.txt").read_text().splitlines()[1:]
    classes = enumerate(size_classes(PAGE, 32), 1)
    mine = [(i, each.size, each.pages, each.move, each.most_chains) for i, each in classes]
    assert mine == [tuple(map(int, line.split())) for line in lines]


def test_more_blocks_are_fetched_each_time():
    made = heap()
    got = [(made.malloc(8), len(made.cached())) for _ in range(4)]
    assert got == [(0, 0), (8, 1), (16, 0), (24, 2)]


def test_the_newest_block_is_used_first():
    made = heap()
    blocks = [made.malloc(100) for _ in range(3)]
    for block in (blocks[1], blocks[0]):
        made.free(block)
    assert made.malloc(100) == blocks[0]


def test_a_list_that_is_too_long_gives_a_chain_back():
    made = heap(transfer_num_obj=2)
    blocks = [made.malloc(100) for _ in range(4)]
    made.request = Request(thread=1)
    made.malloc(8)  # so it has a cache, where a list may hold one block at first
    for block in blocks:
        made.free(block)
    assert made.figures()["transfer"] == 2 * 112
    assert [made.malloc(100) for _ in range(4)] == [blocks[i] for i in (3, 2, 1, 0)]


def test_a_block_goes_to_the_cache_of_the_thread_that_frees_it():
    made = heap()
    made.request = Request(thread=1)
    block = made.malloc(8)
    made.request = Request(thread=2)
    made.free(block)
    assert made.cached() == [], "this thread has no cache, so the block is in its span"
    assert made.malloc(8) == block
    made.free(block)
    assert made.cached() == [block]
    made.end_thread()
    assert made.cached() == []
    assert made.free_blocks() == [(0, MIB)], "all is one span again"


def test_a_cache_that_is_too_large_gives_back_what_was_not_needed_since_the_last_time():
    made = heap()
    blocks = [made.malloc(size) for size in (32768, 40960, 57344, 65536)]
    for block in blocks[:2]:
        made.free(block)  # 73,728 bytes are more than 64 KiB: from now on 128 are allowed
    assert made.figures()["thread_caches"] == 32768 + 40960
    for block in blocks[2:]:
        made.free(block)
    assert made.figures()["thread_caches"] == 57344 + 65536


def test_free_spans_merge_and_the_newest_of_the_shortest_is_used():
    made = heap()
    large = 300_000  # 37 pages
    first, second, third = (made.malloc(large) for _ in range(3))
    assert (first, second, third) == (0, 37 * PAGE, 74 * PAGE)
    made.free(first)
    made.free(third)
    assert made.free_blocks() == [(0, 37 * PAGE), (74 * PAGE, 54 * PAGE)], "the rest merged"
    assert made.malloc(large) == first
    made.free(second)
    assert made.free_blocks() == [(37 * PAGE, 91 * PAGE)]


def test_pages_go_back_after_so_many_were_freed():
    made = heap(release_rate=1000.0)
    size = MIB * 256
    for _ in range(8):
        made.free(made.malloc(size))
    assert made.figures()["ph_returned"] == 0
    made.free(made.malloc(size))  # 262,144 pages and more
    assert made.figures()["ph_returned"] == made.figures()["heap"]
    never = heap(release_rate=0.0)
    for _ in range(20):
        never.free(never.malloc(size))
    assert never.figures()["ph_returned"] == 0


def test_with_aggressive_decommit_free_neighbours_are_returned_too():
    made = heap(aggressive_decommit=True)
    block = made.malloc(MIB // 2)
    assert made.figures()["ph_returned"] == 0, "the first memory comes before the settings"
    made.free(block)
    assert made.figures()["ph_returned"] == MIB


def test_realloc_leaves_room_in_2_10_only():
    old, new = heap(version=TcmallocVersion.V2_10), heap()
    for made in (old, new):
        made.malloc(1024)
    assert old.block_size(old.reallocate(0, 1025)) == 1280
    assert new.block_size(new.reallocate(0, 1025)) == 1152
    assert old.reallocate_in_place(0, 512)
    assert not new.reallocate_in_place(0, 512)


def test_an_alignment_above_a_page_counts_from_where_the_break_begins():
    made = heap(heap_start=4 * PAGE)
    made.request = Request(alignment=16 * PAGE)
    assert made.malloc(PAGE) == 12 * PAGE
    assert made.free_blocks() == [(0, 12 * PAGE), (13 * PAGE, 115 * PAGE)]


def test_the_limit_is_kept_by_giving_back_and_else_ends_the_replay():
    made = heap(heap_limit_mb=4)
    made.free(made.malloc(3 * MIB))
    made.malloc(4 * MIB)
    assert made.figures()["ph_returned"] == 3 * MIB
    with pytest.raises(SimallocError, match="heap_limit_mb"):
        made.malloc(1)


@pytest.mark.parametrize("wrong", [{"page": 5000}, {"release_rate": -1.0}])
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(PolicyError, match="it takes"):
        Tcmalloc(**wrong)
