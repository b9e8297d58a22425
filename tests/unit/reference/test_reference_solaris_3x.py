"""Solaris' -lmalloc on heaps small enough to follow policy/families/solaris_3x.md by hand."""

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.space import State
from simalloc.policy.families.solaris_3x import Solaris3x


def heap(*sizes, **parameters):
    """Return a heap that grows by 100 bytes with objects of `sizes`; from 49 on none is a cell."""
    made = heap_for(Solaris3x(**{"growth": 100, "cells": 3, **parameters}))
    for size in sizes:
        made.malloc(size)
    return made


def test_a_freed_block_does_not_join_a_free_predecessor():
    made = heap(60, 60, 60, 60, 60)
    made.free(60)
    made.free(120)
    assert made.free_blocks() == [(60, 60), (120, 60)]
    assert (made.malloc(60), made.visited) == (120, 1)


def test_a_search_merges_what_it_looks_at_with_what_follows():
    made = heap(60, 60, 60, 60, 60)
    made.free(60)
    made.free(120)
    before = made.coalescings
    assert (made.malloc(110), made.visited) == (60, 2)
    assert made.coalescings == before + 1


def test_the_next_search_starts_at_what_is_left_and_then_behind_it():
    made = heap(70, 50, 80, 50, 90, 50, 60)
    for address in (250, 120, 0):
        made.free(address)  # 0, 120, 250
    assert (made.malloc(75), made.visited) == (120, 2)  # what is left goes before 250
    assert (made.malloc(85), made.visited) == (250, 2)
    assert made.malloc(70) == 0
    made.check()


def test_growth_takes_the_last_block_into_account():
    made = heap(60)
    assert made.malloc(130) == 60
    assert (made.brk, made.free_blocks()) == (200, [(190, 10)])
    made = heap(100)
    made.malloc(130)
    assert (made.brk, made.free_blocks()) == (300, [(230, 70)])


def test_small_requests_take_cells():
    made = heap(60)
    assert [made.malloc(size) for size in (1, 8, 5)] == [60, 68, 76]
    assert (made.visited, made.free_block_count) == (1, 1)
    made.free(60)
    made.free(76)
    assert [made.malloc(3) for _ in range(2)] == [76, 60]
    assert made.malloc(3) == 84  # a second holding block
    made.check()


def test_the_holding_block_of_a_freed_cell_comes_first():
    made = heap(*[8] * 5)  # cells at 0, 8, 16 and at 24, 32; 40 was never used
    made.free(8)
    assert [made.malloc(8) for _ in range(2)] == [8, 40]
    made.free(16)
    made.free(24)
    assert [made.malloc(8) for _ in range(2)] == [24, 16]


def test_a_block_that_cannot_grow_has_absorbed_what_follows():
    made = heap(60, 60, 60)
    made.free(60)
    assert not made.reallocate_in_place(0, 121)
    assert made.block_size(0) == 120
    assert made.reallocate_in_place(0, 60)
    assert made.free_blocks() == [(60, 60), (180, 20)]
    cells = heap(8)
    assert not cells.reallocate_in_place(0, 8)


def test_what_the_allocator_keeps_for_itself():
    made = heap_for(Solaris3x(mechanism=True))
    assert made.malloc(16) == 40 + 32  # behind the queues, and the holding block's own
    assert made.blocks.in_state(State.TABLE) == [(0, 40), (40, 32), (2032, 16)]
    made.malloc(2000)
    assert made.brk == 4096
    assert made.blocks.in_state(State.TABLE)[2:] == [(4080, 16)]
    made.check()
