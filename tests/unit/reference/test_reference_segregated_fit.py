"""Lists by size class, computed by hand with policy/families/segregated_fit.md."""

import pytest
from small_traces import heap_with

from simalloc.errors import PolicyError
from simalloc.heap.reference.parts.size_class import SizeClasses
from simalloc.policy.families.segregated_fit import ListFit, ListOrder, SegregatedFit
from simalloc.policy.parts import Coalescing, Spacing


def heap(*sizes, **parameters):
    """Return a heap that grows by 1000 bytes, with blocks of `sizes` allocated from its start."""
    return heap_with(SegregatedFit(growth=1000, **parameters), *sizes)


def free(made, *addresses):
    """Free blocks in turn; return the total number of blocks that the frees visited."""
    before = made.visited_at_free
    for address in addresses:
        made.free(address)
        made.check()
    return made.visited_at_free - before


SIZES = (100, 60, 200, 60, 80, 60)  # at 0, 100, 160, 360, 420, 500; 440 bytes are left at 560


@pytest.mark.parametrize(
    ("fit", "size", "found", "visited"),
    [
        (ListFit.FIRST, 90, 160, 2),
        (ListFit.BEST, 90, 0, 4),
        (ListFit.FIRST, 300, 560, 4),
        (ListFit.FIRST, 500, 1000, 4),
    ],
)
def test_one_list_newest_first(fit, size, found, visited):
    made = heap(*SIZES, fit=fit)
    assert free(made, 0, 160, 420) == 3
    assert list(made.listed()) == [420, 160, 0, 560]
    assert (made.malloc(size), made.visited) == (found, visited)
    made.check()


def test_what_is_left_keeps_the_place():
    made = heap(*SIZES)
    free(made, 0, 160, 420)
    assert made.malloc(90) == 160
    assert list(made.listed()) == [420, 250, 0, 560]
    assert made.malloc(95) == 250
    assert list(made.listed()) == [420, 345, 0, 560]


def test_a_list_for_each_class():
    made = heap(*SIZES, classes=8)  # 440 bytes are in the seventh list
    free(made, 0, 160, 420)  # 100 and 80 bytes are in the second list, 200 in the fourth
    assert (made.malloc(120), made.visited) == (160, 4)  # 2 + 1 visits, remainder's entry
    assert made._lists[1] == [280, 420, 0]
    assert (made.malloc(90), made.visited) == (0, 3)
    assert (made.malloc(70), made.visited) == (280, 1)  # too few bytes are left
    made.check()


def test_blocks_by_size():
    made = heap(100, 60, 80, 60, 90, 60, order=ListOrder.SIZE)  # 550 bytes at 450
    assert [free(made, address) for address in (0, 160, 300)] == [1, 1, 2]
    assert list(made.listed()) == [160, 300, 0, 450]
    assert (made.malloc(85), made.visited) == (300, 2)
    assert free(made, 300) == 2
    assert (made.malloc(110), made.visited) == (450, 4 + 3)  # the remainder is largest again
    assert made.coalescings == 0


def test_equal_blocks_by_size_are_taken_newest_first():
    made = heap(50, 20, 50, 20, 50, 20, order=ListOrder.SIZE)
    assert free(made, 70, 0, 140) == 3
    assert [made.malloc(50) for _ in range(3)] == [140, 0, 70]


def test_coalescing():
    made = heap(100, 100, 100, 700, coalescing=Coalescing.ALL)
    assert free(made, 0, 200, 100) == 3
    assert made.free_blocks() == [(0, 300)]
    assert made.coalescings == 2
    with pytest.raises(PolicyError, match="which only address trees support"):
        SegregatedFit(coalescing=Coalescing.ONE)


def test_growth():
    made = heap(800)
    assert (made.malloc(900), made.free_blocks()) == (1000, [(800, 200), (1900, 100)])
    whole = heap(800, coalescing=Coalescing.ALL)
    assert (whole.malloc(1100), whole.brk) == (800, 3000)
    counted = heap(800, coalescing=Coalescing.ALL, count_tail=True)
    assert (counted.malloc(1100), counted.brk, counted.growths) == (800, 2000, 2)


def test_room_for_the_links():
    made = heap(50, 30)
    free(made, 0)
    made.malloc(39)
    assert made.block_size(0) == 50  # 11 bytes are too few
    assert SegregatedFit().applied_overhead.minimum == 12
    assert SegregatedFit(word=8).applied_overhead.minimum == 24


def test_classes_as_lea_has_them():
    classes = SizeClasses(0, 0, Spacing.LEA)
    assert len(classes) == 127
    sizes = (8, 9, 16, 512, 513, 576, 577, 2560, 2561, 1 << 40)
    assert [classes.of(size) for size in sizes] == [0, 1, 1, 63, 64, 64, 65, 95, 96, 126]
    assert SegregatedFit(spacing=Spacing.LEA).applied_overhead.alignment == 8
    assert SegregatedFit(spacing=Spacing.LEA, alignment=12).applied_overhead.alignment == 24
