"""glibc's malloc on heaps small enough to follow the rules by hand."""

from small_traces import trace

from simalloc.heap.reference import heap_for, replay
from simalloc.heap.reference.space import State
from simalloc.heap.run import Realloc
from simalloc.policy.families.ptmalloc import Ptmalloc

PLAIN = {"growth": 1000, "top_pad": 0, "map_from": 0, "fast": 0, "cache_length": 0, "word": 8}


def heap(*sizes, **parameters):
    """Return a heap with neither thread cache nor fast lists, with `sizes` allocated."""
    made = heap_for(Ptmalloc(**PLAIN | parameters))
    for size in sizes:
        made.malloc(size)
    return made


def test_the_thread_cache_comes_first_and_holds_so_many():
    made = heap(20, 20, 20, 20, cache_length=2)
    for address in (0, 20, 60):
        made.free(address)
    assert made.cached() == [0, 20]
    assert made.free_blocks() == [(60, 940)], "the third merges with the top"
    assert [made.malloc(20) for _ in range(3)] == [20, 0, 60]


def test_fast_blocks_go_newest_first_and_fill_the_thread_cache():
    made = heap(*[20] * 6, fast=3, cache_length=2)
    for address in (0, 20, 40, 60, 80):
        made.free(address)  # two cached; 40, 60, 80 in the fast list
    assert [made.malloc(20) for _ in range(2)] == [20, 0]
    assert made.malloc(20) == 80, "60 and 40 move to the thread cache"
    assert [made.malloc(20) for _ in range(2)] == [40, 60]


def test_unsorted_blocks_are_sorted_oldest_first_until_one_fits_exactly():
    made = heap(100, 10, 50, 10, 60, 10)
    for address in (0, 110, 170):
        made.free(address)
    assert (made.malloc(50), made.visited) == (110, 2)
    assert (made.malloc(55), made.visited) == (170, 2)  # the last one is sorted: the best fit


def test_the_sole_last_remainder_is_cut():
    made = heap(100, 10, 40, 10)
    made.free(0)
    assert made.malloc(30) == 0  # 30 to 100 is unsorted and the last remainder
    assert (made.malloc(20), made.visited) == (30, 1)
    made.free(110)
    assert made.malloc(40) == 110, "it is not alone now"


def test_of_equal_large_blocks_the_head_goes_last():
    made = heap(*[2000, 10] * 4, growth=8040 + 2000)
    for address in (0, 2010, 4020, 6030):
        made.free(address)
    assert [made.malloc(2000) for _ in range(2)] == [0, 2010], "unsorted, exact"
    for address in (0, 2010):
        made.free(address)
    made.malloc(2001)  # all are binned: 4020 is the head, then 6030, 0, 2010
    assert [made.malloc(1999) for _ in range(4)] == [2010, 0, 6030, 4020]


def test_fast_blocks_merge_before_the_heap_grows():
    made = heap(*[20] * 50, fast=3)
    for address in range(0, 1000, 20):
        made.free(address)
    assert (made.malloc(900), made.brk, made.coalescings) == (0, 1000, 49)


def test_the_top_is_padded_and_lowered():
    made = heap(100, top_pad=500)
    assert (made.brk, made.malloc(900), made.brk) == (1000, 100, 1000)
    made = heap(100, 70000, 10, trim=60000, growth=1000)
    made.free(70100)
    made.free(100)
    assert (made.brk, made.free_blocks()) == (1000, [(100, 900)])


def test_the_mapping_threshold_rises_with_what_is_freed():
    made = heap(10, map_from=2000)
    address = made.malloc(2500)
    assert made.blocks.mapped == 1000 + 3000
    made.free(address)
    assert made.malloc(2500) == 10, "3000 is the threshold now"
    assert made.malloc(3000) >= 1 << 62


def test_the_thread_cache_is_a_table_with_a_mechanism():
    for word, size in ((4, 400), (8, 656)):  # 64 * (4 + 2) + 4 bytes, in multiples of 16
        answer = heap_for(Ptmalloc(mechanism=True, word=word))
        assert answer.malloc(32) == size
        assert answer.blocks.in_state(State.TABLE) == [(0, size)]
        assert answer.brk == 33 * 4096


def test_a_realloc_grows_over_what_is_free():
    made = trace("m0:10 m1:20 m2:10 f1 r0:25 r2:30 r0:40")
    answer = replay(made, Ptmalloc(**PLAIN), scale=1, realloc=Realloc.IN_PLACE, check=True)
    assert answer.addresses.tolist() == [0, 10, 30, -1, 0, 30, 60]
