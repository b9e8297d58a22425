"""Vmalloc on heaps small enough to follow the rules by hand."""

import pytest
from small_traces import trace

from simalloc.heap import simulate
from simalloc.heap.reference import heap_for, replay
from simalloc.heap.reference.space import State
from simalloc.heap.run import Realloc
from simalloc.policy.families.vmalloc import Vmalloc


def heap(*sizes, **parameters):
    """Return a heap that grows by 1000 bytes, with blocks of `sizes` allocated from its start."""
    made = heap_for(Vmalloc(**{"growth": 1000} | parameters))
    for size in sizes:
        made.malloc(size)
    return made


def test_the_slot_is_cut_from_its_front():
    made = heap(100)  # the rest of the heap is in the slot: there is no tree yet
    assert made.blocks.in_state(State.CACHED) == [(100, 900)]
    assert [made.malloc(80), made.malloc(70), made.visited] == [100, 180, 1]


def test_tiny_blocks_wait_for_their_own_size():
    made = heap(40, 40, 50)
    for address in (0, 40):
        made.free(address)
    assert [made.malloc(40), made.malloc(39), made.malloc(40)] == [40, 130, 0]


def test_what_waits_merges_when_nothing_else_fits():
    made = heap(40, 100, 40, 100, 720)  # all of the heap
    for address in (0, 40, 140):
        made.free(address)
    assert made.cached() == {0, 40, 140}
    assert made.malloc(170) == 0, "three blocks have become one"
    assert made.coalescings == 2
    assert made.cached() == {170}, "the rest is in the slot"


def test_of_equal_blocks_the_node_goes_first_then_the_newest():
    made = heap(*[100, 10] * 4, 560)
    for address in (0, 110, 220, 330):
        made.free(address)  # 0 in the slot, then the catch-all list: 330, 220, 110
    made.malloc(400)  # merges 0, 330, 220, 110, which enter the tree the other way round
    assert [made.malloc(100) for _ in range(4)] == [110, 0, 330, 220]


def test_growth_counts_whole_units_of_the_wild_block():
    made = heap(100, 20, 880)
    made.free(0)  # the slot
    made.free(120)  # the catch-all list
    assert made.malloc(1500) == 120, "the wild block and all of the new memory"
    assert (made.brk, made.growths) == (3000, 2)


def test_a_mechanism_has_a_segment_and_a_margin():
    made = heap(mechanism=True, growth=32768)
    assert made.malloc(24) == 40
    assert made.blocks.in_state(State.TABLE) == [(0, 40)]
    assert heap(32768 - 80 + 8, mechanism=True, growth=32768).brk == 32768
    assert heap(32768 - 72 + 8, mechanism=True, growth=32768).brk == 65536


def test_a_large_block_behind_a_free_one_has_all_reclaimed():
    made = heap(300, 300, 100, 300, page=250)
    made.free(0)
    made.malloc(350)  # reclaims 0 and grows
    made.free(700)
    assert made.cached() == {700}, "what is before it is in use"
    made.free(300)
    assert (made.cached(), made.free_blocks()) == (set(), [(0, 600), (700, 300), (1350, 650)])


def test_a_realloc_that_moves_asks_for_more():
    made = trace("m0:100 m1:10 r0:120 r0:150")
    answer = replay(made, Vmalloc(growth=1000), scale=1, realloc=Realloc.IN_PLACE, check=True)
    assert answer.addresses.tolist() == [0, 100, 110, 110]
    assert answer.allocated.tolist() == [100, 110, 170, 170], "100 and half of 120"


@pytest.mark.parametrize("engine", ["core", "reference"])
def test_what_a_realloc_takes_in_does_not_enter_the_tree_before(engine):
    made = trace("m0:100 m1:300 m2:10 m3:300 m4:10 m5:300 m6:10 f1 f3 f5 r0:150 m7:300")
    run = simulate(made, "vmalloc", scale=1, realloc="in-place", engine=engine, addresses=True)
    assert run.addresses is not None
    # Block 1 would enter first; when it left, block 5, the newest, would stand before block 3.
    assert run.addresses[[0, 3, -2, -1]].tolist() == [0, 410, 0, 410]
