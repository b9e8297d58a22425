"""The modified buddy on heaps small enough to follow policy/families/modified_buddy.md by hand."""

from small_traces import heap_with

from simalloc.policy.families.modified_buddy import ModifiedBuddy


def heap(*sizes, **parameters):
    """Return a heap with objects of `sizes`."""
    return heap_with(ModifiedBuddy(**parameters), *sizes)


def test_any_two_neighbours_of_a_size_merge():
    made = heap(16, 16, 16, 16)
    made.free(16)
    made.free(32)
    assert (made.free_blocks(), made.coalescings) == ([(16, 32)], 1)
    assert made.malloc(20) == 16
    made.check()


def test_of_two_neighbours_the_lower_one_merges():
    made = heap(16, 16, 16)
    for address in (0, 32, 16):
        made.free(address)
    assert made.free_blocks() == [(0, 32), (32, 16)]


def test_a_merged_block_merges_on():
    made = heap(32, 16, 16, 64)
    for address in (0, 32, 48):
        made.free(address)
    assert made.free_blocks() == [(0, 64)]
    made.free(64)
    assert made.free_blocks() == [(0, 128)]


def test_the_block_freed_last_is_taken_and_its_low_half_kept():
    made = heap(16, 64, 16, 64)
    made.free(16)
    made.free(96)
    assert (made.malloc(9), made.visited) == (96, 1)
    assert made.free_blocks() == [(16, 64), (112, 16), (128, 32)]


def test_the_heap_grows_by_the_block_or_by_the_unit():
    made = heap(40, growth=16)
    assert (made.malloc(17), made.brk, made.visited) == (64, 96, 0)
    made = heap(16, growth=64)
    assert (made.brk, made.free_blocks()) == (64, [(16, 16), (32, 32)])


def test_in_place_stays_within_the_size_of_block():
    made = heap(17)
    assert [made.reallocate_in_place(0, size) for size in (32, 17, 16)] == [True, True, False]
