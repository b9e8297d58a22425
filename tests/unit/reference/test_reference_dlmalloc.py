"""dlmalloc 2.8.6 on heaps small enough to follow the rules by hand."""

import pytest
from small_traces import heap_with, trace

from simalloc.heap import simulate
from simalloc.policy.families.dlmalloc import Dlmalloc


def heap(*sizes, **parameters):
    """Return a heap that grows by 2000 bytes, with blocks of `sizes` allocated from its start."""
    return heap_with(Dlmalloc(**{"growth": 2000, "trim": 0, "map_from": 0} | parameters), *sizes)


def test_the_rest_of_a_small_split_is_the_victim_and_is_used_before_the_trees():
    made = heap(100, 10, 60, 10, 300, 10)
    for address in (0, 110, 180):
        made.free(address)
    assert (made.malloc(50), made.visited) == (110, 1)  # 160 to 170 is the victim
    assert (made.malloc(8), made.visited) == (160, 1)
    assert (made.malloc(30), made.visited) == (0, 1)  # the victim, 2 bytes, enters its list
    assert (made.malloc(2), made.visited) == (168, 1)
    assert (made.malloc(70), made.visited) == (30, 1)  # the victim


@pytest.mark.parametrize("engine", ["core", "reference"])
def test_the_largest_small_request_takes_no_tree_block_for_one_of_the_next_list(engine):
    made = trace("m0:252 m1:8 m2:600 m3:8 f2 m4:8 f0 m5:244")  # 256 16 608 16 bytes, 16, 248
    run = simulate(
        made,
        "dlmalloc-2.8.6:mechanism=on",
        scale=1,
        realloc="in-place",
        engine=engine,
        addresses=True,
    )
    assert run.addresses is not None
    lowest, *_, victim = (run.addresses - run.addresses[0]).tolist()
    assert (lowest, victim) == (0, 256 + 16 + 16)


def test_a_large_request_prefers_a_victim_that_fits_as_well():
    made = heap(400, 10, 300, 10)
    made.free(0)
    made.malloc(40)  # 40 to 400 is the victim
    made.free(410)
    assert (made.malloc(300), made.visited) == (410, 1)  # the block in the tree fits better
    made.free(410)
    assert (made.malloc(310), made.visited) == (40, 1)  # the victim is too small
    made = heap(300, 10, 340, 10)
    made.free(310)
    made.malloc(40)  # 350 to 650 is the victim
    made.free(0)
    assert (made.malloc(280), made.visited) == (350, 2)  # both free blocks have 300 bytes


def test_the_break_falls_when_the_top_is_large():
    made = heap(1000, 4000, trim=4000)
    made.free(1000)
    assert (made.brk, made.free_blocks()) == (2000, [(1000, 1000)])


def test_a_large_request_has_a_segment_of_its_own():
    made = heap(map_from=2500)
    assert made.malloc(2500) == 0, "not the first one"
    address = made.malloc(2500)
    assert (made.blocks.mapped, address >= 1 << 62) == (8000, True)
    assert made.reallocate(address, 3000) == address
    assert made.reallocate(address, 9000) != address
    assert made.blocks.mapped == 4000 + 10000
