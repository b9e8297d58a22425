"""tcmalloc on heaps small enough to follow the rules by hand."""

from pathlib import Path

import pytest

from simalloc.errors import PolicyError
from simalloc.heap.reference import heap_for
from simalloc.heap.reference.families.tcmalloc.size_map import size_classes
from simalloc.heap.reference.heap import Request
from simalloc.heap.reference.space.refused import Refused
from simalloc.policy.families.tcmalloc import Tcmalloc

MEASURED = Path(__file__).parents[2] / "data" / "mallocs" / "tcmalloc"
PAGE = 8192
MIB = 1 << 20


def heap(**parameters):
    """Return an empty heap without the allocations that precede a program's first call."""
    return heap_for(Tcmalloc(**parameters))


def test_the_classes_are_those_of_the_library():
    lines = (MEASURED / "classes.txt").read_text().splitlines()[1:]
    classes = enumerate(size_classes(PAGE, 32), 1)
    mine = [(i, each.size, each.pages, each.move, each.max_cache_size) for i, each in classes]
    assert mine == [tuple(map(int, line.split())) for line in lines]


def test_a_list_that_is_too_long_gives_a_chain_back():
    made = heap(transfer_num_obj=2)
    blocks = [made.malloc(100) for _ in range(4)]
    made.request = Request(thread=1)
    made.malloc(8)  # gives the thread a cache, in which a list may first hold one block
    for block in blocks:
        made.free(block)
    assert made.figures()["transfer"] == 2 * 112
    assert [made.malloc(100) for _ in range(4)] == [blocks[i] for i in (3, 2, 1, 0)]


def test_pages_go_back_after_so_many_were_freed():
    made = heap(release_rate=1000.0)
    size = MIB * 256
    for _ in range(8):
        made.free(made.malloc(size))
    assert made.figures()["ph_returned"] == 0
    made.free(made.malloc(size))  # 262,144 pages or more
    assert made.figures()["ph_returned"] == made.figures()["heap"]
    never = heap(release_rate=0.0)
    for _ in range(20):
        never.free(never.malloc(size))
    assert never.figures()["ph_returned"] == 0


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
    with pytest.raises(Refused):
        made.malloc(1)


@pytest.mark.parametrize("wrong", [{"page": 5000}, {"release_rate": -1.0}])
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(PolicyError, match="; use "):
        Tcmalloc(**wrong)
