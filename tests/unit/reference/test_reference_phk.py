"""PhK malloc on heaps small enough to follow policy/families/phk.md by hand."""

import pytest

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.space import State
from simalloc.policy.families.phk import PageOrder, Phk


def heap(*sizes, **parameters):
    """Return a heap of pages of 1 KiB, with objects of `sizes`."""
    made = heap_for(Phk(**{"page": 1024, **parameters}))
    for size in sizes:
        made.malloc(size)
    return made


def test_chunks_are_taken_from_the_low_end_of_a_page_of_their_size():
    made = heap()
    assert [made.malloc(size) for size in (100, 65, 513, 512, 1, 128)] == [
        0,
        128,
        1024,
        2048,
        3072,
        256,
    ]
    made.free(0)
    assert (made.malloc(128), made.visited) == (0, 1)
    assert [made.block_size(at) for at in (0, 1024, 2048, 3072)] == [128, 1024, 512, 16]
    made.check()


def test_a_page_that_gets_room_again_enters_almost_by_address():
    made = heap(*[512] * 8)  # four full pages
    for address in (0, 2048, 3072):
        made.free(address)  # [A], then [C, A], then D goes behind C: [C, D, A]
    assert [made.malloc(512) for _ in range(4)] == [2048, 3072, 0, 4096]


@pytest.mark.parametrize(
    ("order", "used"),
    [(PageOrder.ADDRESS, [0, 2048, 3072, 4096]), (PageOrder.NEWEST, [3072, 2048, 0, 4096])],
)
def test_pages_may_enter_by_address_or_in_front(order, used):
    made = heap(*[512] * 8, chunk_pages=order)
    for address in (0, 2048, 3072):
        made.free(address)
    assert [made.malloc(512) for _ in range(4)] == used


def test_an_empty_page_of_chunks_is_a_free_run_at_once():
    made = heap(512, 512, 512)
    made.free(0)
    made.free(512)
    assert made.free_blocks() == [(0, 1024)]
    assert made.malloc(10) == 0
    assert (made.splits, made.coalescings) == (0, 0)


def test_runs_are_first_fit_and_one_at_the_break_does_not_count():
    made = heap(1024, 2048, 1024, 3072)
    made.free(1024)
    made.free(4096)
    assert (made.malloc(1025), made.visited) == (1024, 1)
    assert (made.malloc(3073), made.visited) == (7168, 1)  # 3072 bytes at the break stay a hole
    assert made.free_blocks() == [(4096, 3072)]


def test_the_last_run_is_cut_when_it_is_larger_than_what_is_kept():
    made = heap(4096, 1024, keep=2048)
    made.free(4096)
    assert made.brk == 5120
    made.free(0)
    assert (made.brk, made.free_blocks()) == (2048, [(0, 2048)])
    made.check()


def test_a_chunk_moves_when_it_would_be_just_full():
    made = heap(100, 2000)
    assert [made.reallocate_in_place(0, size) for size in (127, 128, 65, 64)] == [
        True,
        False,
        True,
        False,
    ]
    assert [made.reallocate_in_place(1024, size) for size in (2048, 1025, 1024)] == [
        True,
        True,
        False,
    ]
    assert heap(9).reallocate_in_place(0, 1), "there is no smaller chunk"


def test_descriptors_and_the_directory_lie_in_the_heap():
    made = heap_for(Phk(mechanism=True))
    assert made.malloc(100) == 4096
    # The page's own descriptor and the spare one of a run, then that of the page of 128.
    assert made.blocks.in_state(State.TABLE)[:3] == [(0, 32), (32, 32), (64, 32)]
    assert (made.brk, made.blocks.mapped) == (8192, 12288)
    assert made.malloc(5000) == 8192
    made.free(8192)  # its run takes the spare descriptor
    made.free(4096)  # the page of 128 becomes part of the run; its descriptor goes
    assert made.free_blocks() == [(4096, 12288)]
    assert made.blocks.in_state(State.TABLE)[:3] == [(0, 32), (32, 32), (64, 32)]
    made.check()


def test_the_directory_grows_with_the_heap():
    made = heap_for(Phk(mechanism=True))
    made.malloc((1024 - 12 - 2) * 4096)
    assert made.blocks.mapped - made.brk == 4096
    made.malloc(4096)
    assert made.blocks.mapped - made.brk == 8192
