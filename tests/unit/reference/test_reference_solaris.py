"""Solaris' malloc on heaps small enough to follow the rules by hand."""

from small_traces import heap_with

from simalloc.heap.reference.space import State
from simalloc.policy.families.solaris import Solaris


def heap(*sizes, **parameters):
    """Return a heap without a mechanism that grows by 1000 bytes, with `sizes` allocated."""
    return heap_with(Solaris(**{"growth": 1000} | parameters), *sizes)


def test_the_block_freed_last_is_used_again_or_cut():
    made = heap(100, 100, 200)
    made.free(0)
    made.free(200)
    assert (made.malloc(60), made.visited) == (200, 1)  # cut, even if another fits better
    assert made.blocks.state[0] is State.CACHED, "the other one still waits"
    assert (made.malloc(100), made.visited) == (0, 1)  # none remembered: best fit in the tree


def test_a_full_ring_frees_its_oldest():
    made = heap(*[50] * 10, ring=2)
    for address in (0, 100, 200):
        made.free(address)
    assert made.free_blocks() == [(0, 50), (500, 500)]
    assert made.cached() == [100, 200]
