"""Solaris' -lmalloc on heaps small enough to follow policy/families/solaris_3x.md by hand."""

from small_traces import heap_with

from simalloc.policy.families.solaris_3x import Solaris3x


def heap(*sizes, **parameters):
    """Return a heap that grows by 100 bytes with objects of `sizes`; cells hold sizes below 49."""
    return heap_with(Solaris3x(**{"growth": 100, "cells": 3, **parameters}), *sizes)


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
        made.free(address)  # the list is 0, 120, 250
    assert (made.malloc(75), made.visited) == (120, 2)  # the remainder enters before 250
    assert (made.malloc(85), made.visited) == (250, 2)
    assert made.malloc(70) == 0
    made.check()


def test_small_requests_take_cells():
    made = heap(60)
    assert [made.malloc(size) for size in (1, 8, 5)] == [60, 68, 76]
    assert (made.visited, made.free_block_count) == (1, 1)
    made.free(60)
    made.free(76)
    assert [made.malloc(3) for _ in range(2)] == [76, 60]
    assert made.malloc(3) == 84  # allocates a second holding block
    made.check()
