"""Segregated storage on heaps small enough to follow the rules by hand."""

from simalloc.heap.reference import heap_for
from simalloc.policy import Series
from simalloc.policy.families.segregated_storage import SegregatedStorage


def test_a_refill_is_handed_out_from_its_low_end_and_its_tail_wasted():
    made = heap_for(SegregatedStorage(Series.POWERS, growth=100))
    assert (made.malloc(10), made.visited, made.free_block_count) == (0, 0, 5)
    assert [made.malloc(16) for _ in range(5)] == [16, 32, 48, 64, 80]
    assert (made.visited, made.brk, made.allocated) == (1, 100, 96)
    assert made.malloc(1) == 100
    assert (made.visited, made.brk, made.growths, made.splits) == (0, 200, 2, 0)


def test_the_block_freed_last_is_used_first():
    made = heap_for(SegregatedStorage(Series.POWERS, growth=100))
    for _ in range(6):
        made.malloc(10)
    for address in (32, 0, 16):
        made.free(address)
    assert [made.malloc(10) for _ in range(3)] == [16, 0, 32]
    assert made.coalescings == 0


def test_a_size_above_the_unit_comes_alone_and_one_just_as_large_too():
    made = heap_for(SegregatedStorage(Series.POWERS, growth=128))
    assert made.malloc(129) == 0
    assert (made.brk, made.free_blocks()) == (256, [])
    assert made.malloc(128) == 256
    assert (made.brk, made.free_blocks()) == (384, [])
    assert made.malloc(33) == 384
    assert made.free_blocks() == [(448, 64)]


def test_the_sizes_between_come_from_their_own_unit():
    made = heap_for(SegregatedStorage(Series.POWERS_AND_THREES, growth=64, growth_3x=100))
    assert made.malloc(17) == 0
    assert made.block_size(0) == 24
    assert made.free_blocks() == [(24, 24), (48, 24), (72, 24)]
    assert (made.brk, made.malloc(25)) == (100, 100)
    assert made.block_size(100) == 32
    assert [made.malloc(size) for size in (24, 30, 97, 65)] == [24, 132, 164, 292]
    assert [made.block_size(address) for address in (164, 292)] == [128, 96]
    assert made.brk == 392


def test_in_place_stays_within_the_size_of_block():
    made = heap_for(SegregatedStorage(Series.POWERS, growth=64))
    made.malloc(17)
    assert made.reallocate_in_place(0, 32)
    assert made.reallocate_in_place(0, 17)
    assert not made.reallocate_in_place(0, 16)
    assert not made.reallocate_in_place(0, 33)
