"""Solaris' malloc on heaps small enough to follow the rules by hand."""

from small_traces import trace

from simalloc.heap.reference import heap_for, replay
from simalloc.heap.reference.space import State
from simalloc.heap.run import Realloc
from simalloc.policy.families.solaris import Solaris


def heap(*sizes, **parameters):
    """Return a heap without a mechanism that grows by 1000 bytes, with `sizes` allocated."""
    made = heap_for(Solaris(**{"growth": 1000} | parameters))
    for size in sizes:
        made.malloc(size)
    return made


def test_the_block_freed_last_is_used_again_or_cut():
    made = heap(100, 100, 200)
    made.free(0)
    made.free(200)
    assert (made.malloc(60), made.visited) == (200, 1)  # cut, whatever would fit better
    assert made.blocks.state[0] is State.CACHED, "the other one still waits"
    assert (made.malloc(100), made.visited) == (0, 1)  # nothing is remembered: best fit in the tree


def test_what_waits_is_really_freed_newest_first():
    made = heap(50, 60, 50, 60, 50, 60)
    for address in (0, 110, 220):
        made.free(address)
    assert made.malloc(70) == 330  # frees 220, 110, 0: of equals the newest goes first
    assert [made.malloc(50) for _ in range(3)] == [0, 110, 220]


def test_a_full_ring_frees_its_oldest():
    made = heap(*[50] * 10, ring=2)
    for address in (0, 100, 200):
        made.free(address)
    assert made.free_blocks() == [(0, 50), (500, 500)]
    assert made.cached() == [100, 200]


def test_cells_come_in_batches_and_never_merge():
    made = heap(10)
    assert made.brk == 2000, "64 cells of 16 bytes"
    assert made.blocks.in_state(State.CACHED) == [(16, 63 * 16)]
    assert [made.malloc(9), made.malloc(16), made.malloc(8)] == [16, 32, 1024]
    made.free(0)
    made.free(16)
    assert [made.malloc(50), made.malloc(16), made.malloc(16)] == [1536, 0, 16]


def test_the_bottom_block_is_used_last():
    made = heap(100, 50)
    made.free(0)
    assert made.malloc(40) == 0
    assert made.malloc(60) == 40
    assert made.malloc(61) == 150


def test_a_mechanism_keeps_an_end_mark_and_leaves_no_small_rests():
    made = heap(mechanism=True, growth=8192)
    assert made.malloc(104) == 8
    made.free(8)
    assert made.malloc(64) == 8, "a rest of 40 bytes stays with the block"
    assert made.block_size(8) == 104
    assert made.blocks.in_state(State.TABLE) == [(0, 8)]


def test_a_realloc_takes_a_whole_successor_even_if_it_must_move_then():
    made = trace("m0:100 m1:50 m2:100 f1 r0:200 m3:60")
    answer = replay(made, Solaris(growth=1000), scale=1, realloc=Realloc.IN_PLACE, check=True)
    assert answer.addresses.tolist() == [0, 100, 150, -1, 250, 0]  # the old block has 150 bytes


def test_a_realloc_at_the_end_of_the_heap_grows_it():
    made = trace("m0:900 m1:100 r1:300")
    answer = replay(made, Solaris(growth=1000), scale=1, realloc=Realloc.IN_PLACE, check=True)
    assert (answer.addresses.tolist(), answer.heap[-1]) == ([0, 900, 900], 2000)


def test_growth_is_2048_words_if_not_given():
    assert heap(100, growth=0).brk == 8192
    assert heap(100, growth=0, word=8).brk == 16384
