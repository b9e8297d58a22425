"""Lea 2.6.6 on heaps small enough to follow the rules by hand."""

from small_traces import heap_with

from simalloc.policy.families.lea import Lea


def heap(*sizes, **parameters):
    """Return a heap that grows by 100 bytes, with blocks of `sizes` allocated from its start."""
    return heap_with(Lea(**{"growth": 100, "trim": 0, "map_from": 0} | parameters), *sizes)


def test_the_last_remainder_goes_before_a_better_fit():
    made = heap(60, 10, 20, 10)  # at 0, 60, 70, 90; no top is left
    made.free(0)
    made.free(70)
    assert (made.malloc(50), made.visited) == (0, 1)  # 50 to 60 is the last remainder
    assert (made.malloc(8), made.visited) == (50, 1)  # even if another fits better
    assert (made.malloc(20), made.visited) == (70, 1)  # but an exact fit has priority
    assert made.free_blocks() == [(58, 2)]


def test_a_last_remainder_that_is_too_small_enters_the_bins():
    made = heap(60, 10, 20, 10)
    made.free(0)
    made.malloc(50)
    made.free(70)
    assert (made.malloc(15), made.visited) == (70, 2)  # 50 to 60 is visited and binned
    assert (made.malloc(6), made.visited) == (50, 2)  # 85 to 90 is binned; the best fit


def test_a_fit_that_leaves_less_than_a_block_is_exact_in_its_own_bin_only():
    made = heap(mechanism=True, growth=4096)
    blocks = [made.malloc(size) for size in (1000, 16, 576, 16)]  # bins at 960 and at 576
    made.free(blocks[0])
    made.free(blocks[2])
    assert made.malloc(992) == blocks[0], "992 and 1000 share the bin that begins at 960"
    assert made.malloc(568) == blocks[2], "no last remainder goes before: the best fit"
    assert made.free_blocks() == [(1608, 4096 - 1608)]


def test_growth_does_not_count_the_top_but_joins_it():
    made = heap(75)
    assert (made.malloc(26), made.visited, made.brk) == (75, 1, 200)
    assert (made.growths, made.coalescings) == (2, 1)


def test_the_break_falls_when_a_free_block_has_become_part_of_a_large_top():
    made = heap(100, 250, trim=250)
    assert made.brk == 400
    made.free(100)
    assert (made.brk, made.free_blocks()) == (200, [(100, 100)]), "whole units, but not all"


def test_a_large_request_has_a_segment_of_its_own():
    made = heap(10, map_from=150)
    address = made.malloc(150)
    assert (made.brk, made.blocks.mapped, made.growths) == (100, 300, 2)
    made.free(address)
    assert made.blocks.mapped == 100
    for _ in range(65):
        made.malloc(150)
    assert made.brk == 300, "no more than 64"
