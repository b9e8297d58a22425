"""The collector on heaps small enough to follow policy/families/bw_gc.md by hand."""

from small_traces import heap_with

from simalloc.heap.reference import heap_for
from simalloc.policy.families.bw_gc import BwGc


def heap(*sizes, **parameters):
    """Return a heap of pages of 64 bytes that first grows by one page, with objects of `sizes`."""
    return heap_with(BwGc(**{"page": 64, "roots": 0, "increment": 1, **parameters}), *sizes)


def test_a_footer_set_by_hand_is_no_extra_byte():
    assert heap_for(BwGc(footer=4)).rounded(36) == 40
    assert heap_for(BwGc(mechanism=True)).rounded(33) == 36


def test_a_collection_waits_until_enough_was_allocated():
    made = heap(*[16] * 4)
    for address in (0, 16, 32, 48):
        made.free(address)
    assert (made.malloc(16), made.collections, made.brk) == (48, 1, 64)
    made = heap(*[16] * 4, roots=208)  # 16 words are below (64 + 208) / 4 / 4
    made.free(0)
    assert (made.malloc(16), made.collections, made.brk) == (112, 0, 192)


def test_no_collection_follows_another_before_anything_was_allocated():
    made = heap(16, divisor=1024)  # (64 + 0) / 4 / 1024 is less than a word
    made.malloc(128)  # collects, then grows
    assert (made.collections, made.brk) == (1, 256)


def test_of_two_stretches_of_1024_pages_the_upper_one_is_swept_first():
    made = heap(64 * 1023, *[16] * 8, increment=2048)  # across the two stretches
    made.free(1023 * 64 + 16)
    made.free(1024 * 64 + 16)
    made.malloc(64 * 1023)  # all remaining bytes
    assert [made.malloc(16), made.malloc(16)] == [1024 * 64 + 16, 1023 * 64 + 16]
    assert made.collections == 1


def test_what_dies_after_a_collection_waits_for_the_next_although_its_page_is_swept_later():
    made = heap(*[16] * 8, increment=2, roots=64)
    for address in (0, 64):
        made.free(address)
    assert made.malloc(16) == 0  # collects, and sweeps the lower page; the other page still waits
    made.free(80)
    assert made.malloc(16) == 64
    assert (made.malloc(16), made.brk) == (176, 320)  # 8 words are below (128 + 64) / 4 / 4
    assert made.collections == 1


def test_garbage_is_counted_as_free_blocks():
    made = heap(16, 16)
    made.free(48)
    assert made.free_block_count == 2  # includes the two that were never used
    made.check()


def test_an_index_is_taken_when_a_page_of_its_stretch_is_first_used():
    # Three tables of 49 pages, a stack of 8, a heap of 16 and an index of 81 pages lose one page
    # each. A stretch is 1024 pages. The unused parts of the tables suffice for headers and maps.
    made = heap_for(BwGc(mechanism=True, page=64))
    made.malloc(21)
    assert made.brk == (3 * 50 + 9 + 17 + 82) * 64 == 16512
    assert made.malloc(760 * 64) == 16512  # the heap grows by 776 pages into the second stretch,
    assert made.brk == 16512 + 777 * 64 == 65536 + 11 * 64  # which is not used yet
    made.malloc(15 * 64)  # all that remained of the first pages
    assert made.brk == 65536 + 11 * 64
    assert made.malloc(6 * 64) == 65536 - 6 * 64  # the remaining pages now begin the second stretch
    assert made.brk == 65536 + (11 + 82) * 64
