"""musl's malloc on heaps small enough to follow the rules by hand."""

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.families.musl.classes import SIZES, class_of, slot_count
from simalloc.heap.reference.heap import Request
from simalloc.policy.families.musl import Musl

PAGE = 4096


def heap(**parameters):
    """Return an empty heap of a 64-bit machine."""
    return heap_for(Musl(**{"mechanism": True, "word": 8} | parameters))


def places(made, *sizes):
    """Allocate, and return mapping and offset of each object."""
    return [made.locate(made.malloc(size))[::2] for size in sizes]


def test_classes_are_four_to_a_doubling():
    assert len(SIZES) == 48
    assert [SIZES[class_of(size)] for size in (1, 17, 176, 193, 4081)] == [16, 32, 192, 240, 4672]


def test_a_group_has_more_slots_the_more_its_class_has():
    assert [slot_count(8, usage, 16) for usage in (0, 55, 56, 111, 112)] == [6, 6, 14, 14, 28]


def test_small_groups_lie_in_slots_of_larger_ones():
    made = heap()
    first = made.malloc(12)
    mapping, _, offset = made.locate(first)
    assert (mapping, offset) == (0, 4 * 16), "behind the heads of four groups"
    assert made.figures() | {"meta": 8192, "mmaps": 1} == made.figures()
    made.free(first)
    assert made.blocks.mapped == 8192, "each was the last object of the next"


def test_the_place_in_a_slot_goes_by_turns():
    made = heap()
    made.malloc(1200)
    turns = []
    for _ in range(4):
        block = made.malloc(1100)
        turns.append(made.locate(block)[2])
        made.free(block)
    assert turns[2:] == [turns[0] + 16, turns[1] + 16], "two slots by turns"


def test_what_the_program_wrote_decides_where_the_next_object_begins():
    written, bare = heap(), heap()
    bare.program_writes = False
    for made in (written, bare):
        for block in [made.malloc(2000) for _ in range(4)][:3]:
            made.free(block)
    assert places(bare, 70) == [(1, 64)], "nothing is told of these slots yet"
    assert places(written, 70) == [(1, 64 + 16)], "0x5A is taken for what a header told"


def test_large_objects_have_mappings_which_are_resized():
    made = heap()
    block = made.malloc(200_000)
    at = made.locate(block)
    other = made.reallocate(block, 400_000)
    assert made.locate(other) == at, "the same mapping, and the same place in it"
    assert made.figures()["mremaps"] == 1
    made.free(other)
    assert made.blocks.mapped == made.figures()["meta"]


def test_a_class_that_bounces_keeps_its_last_group():
    made, never = heap(), heap(bounce=False)
    for each in (made, never):
        for _ in range(110):
            each.free(each.malloc(1500))
    assert made.figures()["munmaps"] < never.figures()["munmaps"] == 110


def test_realloc_stays_while_the_class_is_about_the_same():
    made = heap()
    block = made.malloc(100)
    assert made.reallocate_in_place(block, 80)
    assert not made.reallocate_in_place(block, 40)
    assert not made.reallocate_in_place(block, 500)


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
