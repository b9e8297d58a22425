"""PhK malloc on heaps small enough to follow policy/families/phk.md by hand."""

import pytest
from small_traces import heap_with

from simalloc.policy.families.phk import PageOrder, Phk


def heap(*sizes, **parameters):
    """Return a heap of pages of 1 KiB, with objects of `sizes`."""
    return heap_with(Phk(**{"page": 1024, **parameters}), *sizes)


@pytest.mark.parametrize(
    ("order", "used"),
    [(PageOrder.ADDRESS, [0, 2048, 3072, 4096]), (PageOrder.NEWEST, [3072, 2048, 0, 4096])],
)
def test_pages_may_enter_by_address_or_in_front(order, used):
    made = heap(*[512] * 8, chunk_pages=order)
    for address in (0, 2048, 3072):
        made.free(address)
    assert [made.malloc(512) for _ in range(4)] == used


def test_runs_are_first_fit_and_one_at_the_break_does_not_count():
    made = heap(1024, 2048, 1024, 3072)
    made.free(1024)
    made.free(4096)
    assert (made.malloc(1025), made.visited) == (1024, 1)
    assert (made.malloc(3073), made.visited) == (7168, 1)  # 3072 bytes at the break remain a hole
    assert made.free_blocks() == [(4096, 3072)]


def test_the_last_run_is_cut_when_it_is_larger_than_what_is_kept():
    made = heap(4096, 1024, keep=2048)
    made.free(4096)
    assert made.brk == 5120
    made.free(0)
    assert (made.brk, made.free_blocks()) == (2048, [(0, 2048)])
    made.check()
