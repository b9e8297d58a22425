"""musl's malloc on heaps small enough to follow the rules by hand."""

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.heap import Request
from simalloc.policy.families.musl import Musl


def heap(**parameters):
    """Return an empty heap of a 64-bit machine."""
    return heap_for(Musl(**{"mechanism": True, "word": 8} | parameters))


def places(made, *sizes):
    """Allocate objects, and return each object's mapping and offset."""
    return [made.locate(made.malloc(size))[::2] for size in sizes]


def test_a_class_that_bounces_keeps_its_last_group():
    made, never = heap(), heap(bounce=False)
    for each in (made, never):
        for _ in range(110):
            each.free(each.malloc(1500))
    assert made.figures()["munmaps"] < never.figures()["munmaps"] == 110


def test_an_aligned_object_begins_later_in_a_larger_slot():
    made = heap()
    made.request = Request(alignment=256)
    block = made.malloc(10)
    mapping, _, offset = made.locate(block)
    assert (mapping, offset % 256) == (0, 0)
    assert made.block_size(block) >= 10 + 256 - 16


def test_without_a_mechanism_slots_have_no_headers():
    made = heap(mechanism=False)
    assert places(made, 16, 16) == [(0, 0), (0, 16)]
    assert made.figures()["meta"] == 0
