"""The collector on heaps small enough to follow policy/families/bw_gc.md by hand."""

import pytest

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.space import State
from simalloc.policy.families.bw_gc import BwGc


def heap(*sizes, **parameters):
    """Return a heap of pages of 64 bytes that grows by a page at first, with objects of `sizes`."""
    made = heap_for(BwGc(**{"page": 64, "roots": 0, "increment": 1, **parameters}))
    for size in sizes:
        made.malloc(size)
    return made


@pytest.mark.parametrize(
    ("size", "rounded"),
    [(1, 4), (29, 32), (32, 32), (33, 40), (57, 64), (65, 80), (2048, 2048), (2049, 4096)],
)
def test_sizes_are_few_above_eight_words(size, rounded):
    assert heap_for(BwGc()).rounded(size) == rounded


def test_a_footer_set_by_hand_is_no_extra_byte():
    assert heap_for(BwGc(footer=4)).rounded(36) == 40
    assert heap_for(BwGc(mechanism=True)).rounded(33) == 36


def test_a_new_page_is_used_from_its_high_end():
    made = heap()
    assert [made.malloc(16) for _ in range(4)] == [48, 32, 16, 0]
    made = heap(20)
    assert made.blocks.in_state(State.WASTE) == [(60, 4)]


def test_what_is_freed_is_not_used_before_a_collection():
    made = heap(16, 16, increment=2)
    made.free(48)
    assert made.malloc(16) == 16
    assert made.blocks.in_state(State.CACHED) == [(0, 16), (48, 16)]


def test_a_collection_waits_until_enough_was_allocated():
    made = heap(*[16] * 4)
    for address in (0, 16, 32, 48):
        made.free(address)
    assert (made.malloc(16), made.collections, made.brk) == (48, 1, 64)
    made = heap(*[16] * 4, roots=208)  # 16 words are below (64 + 208) / 4 / 4
    made.free(0)
    assert (made.malloc(16), made.collections, made.brk) == (112, 0, 192)


def test_no_collection_follows_another_before_anything_was_allocated():
    made = heap(16, divisor=1024)  # (64 + 0) / 4 / 1024 is no word at all
    made.malloc(128)  # collects, and then grows
    assert (made.collections, made.brk) == (1, 256)


def test_pages_are_swept_from_the_lowest_and_used_from_their_highest_object():
    made = heap(*[16] * 8, increment=2)
    for address in (0, 16, 64, 112):
        made.free(address)
    assert [made.malloc(16) for _ in range(4)] == [16, 0, 112, 64]
    assert made.collections == 1


def test_of_two_stretches_of_1024_pages_the_upper_one_is_swept_first():
    made = heap(64 * 1023, *[16] * 8, increment=2048)  # the last page below, the first above
    made.free(1023 * 64 + 16)
    made.free(1024 * 64 + 16)
    made.malloc(64 * 1023)  # all that is left
    assert [made.malloc(16), made.malloc(16)] == [1024 * 64 + 16, 1023 * 64 + 16]
    assert made.collections == 1


def test_what_dies_after_a_collection_waits_for_the_next_although_its_page_is_swept_later():
    made = heap(*[16] * 8, increment=2, roots=64)
    for address in (0, 64):
        made.free(address)
    assert made.malloc(16) == 0  # collects, and sweeps the lower page; the other one still waits
    made.free(80)
    assert made.malloc(16) == 64
    assert (made.malloc(16), made.brk) == (176, 320)  # 8 words are below (128 + 64) / 4 / 4
    assert made.collections == 1


def test_only_a_collection_gives_pages_back():
    made = heap(100, 100, increment=4)
    assert (made.brk, made.free_blocks()) == (256, [])
    made.free(0)
    assert made.malloc(100) == 0
    assert (made.collections, made.brk) == (1, 256)


def test_each_growth_is_half_as_large_again():
    made = heap(*[16] * 4, increment=4, roots=1 << 20)
    made.malloc(200)
    assert (made.brk, made.growths) == (4 * 64 + (4 + 4) * 64, 2)
    made.malloc(64 * 40)  # 46 pages, whose half is the increment, and then 34
    assert made.brk == (4 + 8 + 46) * 64
    made.malloc(64 * 50)
    assert made.brk == (4 + 8 + 46 + 84) * 64


def test_a_run_is_passed_by_if_the_next_one_is_smaller_and_fits():
    made = heap(192, 64, 128, 64, increment=7)
    made.free(0)
    made.free(256)
    made.malloc(64 * 20)  # collects, and then grows
    assert made.collections == 1
    assert made.malloc(64) == 256


def test_realloc_gives_the_old_object_back_at_once():
    made = heap(16, increment=2)
    assert made.reallocate(48, 10) == 48
    assert made.reallocate(48, 7) == 120
    assert made.malloc(16) == 48


def test_garbage_is_counted_as_free_blocks():
    made = heap(16, 16)
    made.free(48)
    assert made.free_block_count == 2  # with the two that were never used
    made.check()


def test_tables_and_a_lost_page_with_each_growth():
    made = heap_for(BwGc(mechanism=True))
    made.malloc(100)
    # Three tables of 2,048 bytes begin 17 pages for tables, and the stack for marking has 8.
    assert made.blocks.in_state(State.TABLE) == [(0, 17 * 4096), (18 * 4096, 8 * 4096)]
    assert made.blocks.total[State.WASTE] == 3 * 4096 + 4096 % 112
    assert made.brk == (18 + 9 + 17) * 4096
    made.check()


def test_an_index_is_taken_when_a_page_of_its_stretch_is_first_used():
    # Three tables of 49 pages, a stack of 8, a heap of 16 and an index of 81, each with one lost;
    # a stretch is 1024 pages. What is left of the tables is enough for headers and maps.
    made = heap_for(BwGc(mechanism=True, page=64))
    made.malloc(21)
    assert made.brk == (3 * 50 + 9 + 17 + 82) * 64 == 16512
    assert made.malloc(760 * 64) == 16512  # the heap grows by 776 pages, into the second stretch,
    assert made.brk == 16512 + 777 * 64 == 65536 + 11 * 64  # where nothing is used yet
    made.malloc(15 * 64)  # all that was left of the first pages
    assert made.brk == 65536 + 11 * 64
    assert made.malloc(6 * 64) == 65536 - 6 * 64  # what is left now begins the second stretch
    assert made.brk == 65536 + (11 + 82) * 64
