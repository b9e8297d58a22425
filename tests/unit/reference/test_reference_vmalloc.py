"""Vmalloc on heaps small enough to follow the rules by hand."""

import pytest
from small_traces import heap_with, trace

from simalloc.heap import simulate
from simalloc.heap.reference.space import State
from simalloc.policy.families.vmalloc import Vmalloc


def heap(*sizes, **parameters):
    """Return a heap that grows by 1000 bytes, with blocks of `sizes` allocated from its start."""
    return heap_with(Vmalloc(**{"growth": 1000} | parameters), *sizes)


def test_the_slot_is_cut_from_its_front():
    made = heap(100)  # the remaining heap is in the slot; the tree is still empty
    assert made.blocks.in_state(State.CACHED) == [(100, 900)]
    assert [made.malloc(80), made.malloc(70), made.visited] == [100, 180, 1]


def test_a_large_block_behind_a_free_one_has_all_reclaimed():
    made = heap(300, 300, 100, 300, page=250)
    made.free(0)
    made.malloc(350)  # reclaims the block at 0 and grows
    made.free(700)
    assert made.cached() == {700}, "what is before it is in use"
    made.free(300)
    assert (made.cached(), made.free_blocks()) == (set(), [(0, 600), (700, 300), (1350, 650)])


@pytest.mark.parametrize("engine", ["core", "reference"])
def test_what_a_realloc_takes_in_does_not_enter_the_tree_before(engine):
    made = trace("m0:100 m1:300 m2:10 m3:300 m4:10 m5:300 m6:10 f1 f3 f5 r0:150 m7:300")
    run = simulate(made, "vmalloc", scale=1, realloc="in-place", engine=engine, addresses=True)
    assert run.addresses is not None
    # Block 1 would enter first. After it left, block 5, the newest, would precede block 3.
    assert run.addresses[[0, 3, -2, -1]].tolist() == [0, 410, 0, 410]
