"""Kingsley's allocator on heaps small enough to follow the rules by hand."""

import pytest
from small_traces import trace

from simalloc.heap.reference import heap_for, replay
from simalloc.heap.run_options import Realloc
from simalloc.policy.families.kingsley import Kingsley, Variant

BSD_4_2 = Kingsley(mechanism=True)
BSD_4_4 = Kingsley(Variant.BSD_4_4, mechanism=True)


def test_growth_of_the_first_release():
    heap = heap_for(BSD_4_2)
    assert [heap.malloc(500), heap.malloc(512), heap.visited, heap.brk] == [0, 512, 1, 2048]
    assert [heap.malloc(3000), heap.brk] == [2048, 2048 + 4096]
    heap.free(0)
    heap.free(512)
    assert [heap.malloc(300), heap.malloc(300), heap.malloc(300)] == [512, 0, 1024]
    assert heap.splits == heap.coalescings == 0
    heap.check()


@pytest.mark.parametrize(
    ("description", "addresses"),
    [(BSD_4_2, [0, 0, 0, 2048]), (BSD_4_4, [4092, 4092, 8188, 8188])],
)
def test_a_realloc_stays_or_moves(description, addresses):
    made = trace("m0:28 r0:13 r0:12 r0:10")  # sizes with the header: 32, 17, 16, 14
    answer = replay(made, description, scale=1, realloc=Realloc.IN_PLACE, check=True)
    assert answer.addresses.tolist() == addresses
    assert answer.visited.tolist() == [0, 0]


@pytest.mark.parametrize(("description", "moves"), [(BSD_4_2, True), (BSD_4_4, False)])
def test_the_smallest_block_of_the_first_release_never_stays(description, moves):
    made = trace("m0:4 r0:3")  # both objects use a block of 8 bytes, less than three headers
    answer = replay(made, description, scale=1, realloc=Realloc.IN_PLACE, check=True)
    first, second = answer.addresses.tolist()
    assert (first != second) == moves
