"""The buddy systems on heaps small enough to follow the rules by hand."""

import pytest

from simalloc.heap.reference import heap_for
from simalloc.policy import Order
from simalloc.policy.families.binary_buddy import BinaryBuddy
from simalloc.policy.families.double_buddy import DoubleBuddy


def test_blocks_are_halved_low_half_first_and_merge_again():
    made = heap_for(BinaryBuddy(growth=64))
    assert (made.malloc(10), made.visited) == (0, 0)
    assert made.free_blocks() == [(16, 16), (32, 32)]
    assert (made.malloc(17), made.visited, made.malloc(16)) == (32, 1, 16)
    for address in (0, 32, 16):
        made.free(address)
    assert made.free_blocks() == [(0, 64)]
    assert (made.splits, made.coalescings, made.growths) == (2, 2, 1)


def test_growth_for_a_large_block_passes_an_unaligned_break():
    made = heap_for(BinaryBuddy(growth=64))
    made.malloc(10)
    assert made.malloc(100) == 128  # 0 to 64 is in use: the break grows to 128, then by 128
    assert (made.brk, made.growths) == (256, 2)
    assert made.free_blocks() == [(16, 16), (32, 32), (64, 64)]
    assert made.splits == 2  # cutting new memory does not count
    assert made.malloc(200) == 256  # an aligned break rises by exactly the block
    assert made.brk == 512


def test_growth_for_a_large_block_uses_an_all_free_tail():
    made = heap_for(BinaryBuddy(growth=64))
    assert [made.malloc(64) for _ in range(3)] == [0, 64, 128]
    made.free(128)
    assert made.malloc(100) == 128
    assert (made.brk, made.coalescings) == (256, 1)


def test_growth_does_not_take_a_tail_that_is_part_of_a_block_in_use():
    made = heap_for(BinaryBuddy(growth=16))
    assert [made.malloc(128), made.malloc(16)] == [0, 128]
    assert made.malloc(64) == 192
    assert made.free_blocks() == [(144, 16), (160, 32)]


def test_new_memory_is_freed_from_its_low_end_on():
    made = heap_for(BinaryBuddy(growth=16))
    made.malloc(16)
    made.malloc(128)  # the break rises from 16 to 256; 16, 32 and 64 bytes are cut below 128
    assert made.free_blocks() == [(16, 16), (32, 32), (64, 64)]
    made.free(0)
    assert (made.free_blocks(), made.coalescings) == ([(0, 128)], 3)


@pytest.mark.parametrize(
    ("order", "freed", "found"),
    [
        (Order.FIFO, (32, 0), 32),
        (Order.LIFO, (32, 0), 0),
        (Order.ADDRESS, (32, 0), 0),
        (Order.FIFO, (0, 32), 0),
        (Order.LIFO, (0, 32), 32),
        (Order.ADDRESS, (0, 32), 0),
    ],
)
@pytest.mark.parametrize("family", [BinaryBuddy, DoubleBuddy])
def test_the_order_says_which_block_of_a_size_is_taken(family, order, freed, found):
    made = heap_for(family(order=order, growth=64))
    assert [made.malloc(16) for _ in range(4)] == [0, 16, 32, 48]
    for address in freed:
        made.free(address)
    assert made.malloc(16) == found


def test_the_smallest_size_that_is_free_is_halved():
    made = heap_for(BinaryBuddy(growth=128))
    assert [made.malloc(16), made.malloc(64)] == [0, 64]
    assert made.malloc(20) == 32
    made.free(64)
    assert made.malloc(16) == 16
    assert made.malloc(16) == 64


def test_each_series_of_a_double_buddy_has_its_own_growths():
    made = heap_for(DoubleBuddy(growth=64, growth_3x=96))
    assert (made.malloc(20), made.visited, made.brk) == (0, 0, 96)
    assert made.free_blocks() == [(24, 24), (48, 48)]
    assert (made.malloc(10), made.brk) == (96, 160)
    assert (made.malloc(40), made.visited, made.brk) == (48, 1, 160)
    assert [made.malloc(size) for size in (60, 97, 129)] == [160, 224, 352]
    assert [made.block_size(address) for address in (160, 224, 352)] == [64, 128, 192]
    assert (made.brk, made.growths, made.splits) == (544, 5, 4)


def test_blocks_of_a_double_buddy_merge_within_their_growth_only():
    made = heap_for(DoubleBuddy(growth=64, growth_3x=96))
    made.malloc(20)  # makes the growths of 64 bytes begin at 96
    assert [made.malloc(32) for _ in range(4)] == [96, 128, 160, 192]
    for address in (128, 160, 96, 192):
        made.free(address)
    assert [block for block in made.free_blocks() if block[0] >= 96] == [(96, 64), (160, 64)]
    assert made.coalescings == 2
    made.free(0)
    assert made.free_blocks()[0] == (0, 96)


def test_in_place_stays_within_the_size_of_block():
    made = heap_for(DoubleBuddy(growth=64, growth_3x=96))
    made.malloc(20)
    assert made.reallocate_in_place(0, 24)
    assert made.reallocate_in_place(0, 17)
    assert not made.reallocate_in_place(0, 16)
    assert not made.reallocate_in_place(0, 25)
