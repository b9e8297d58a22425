"""mimalloc on heaps small enough to follow policy/families/mimalloc.md by hand, without mechanism.

Addresses are relative to the first page; each small page has 64 KiB.
"""

import pytest

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.heap import Request
from simalloc.policy.families.mimalloc import Mimalloc, ReclaimOnFree

START = 1 << 62
PAGE = 65536
KIB = 1024
MIB = 1024 * KIB


class Program:
    """Calls of a program, with addresses relative to the heap's start."""

    def __init__(self, **parameters):
        self.heap = heap_for(Mimalloc(**parameters))

    def malloc(self, size, thread=0, alignment=0):
        self.heap.request = Request(size=size, thread=thread, alignment=alignment)
        return self.heap.malloc(max(size, 1)) - START

    def free(self, address, thread=0, *, check=True):
        self.heap.request = Request(thread=thread)
        self.heap.free(START + address)
        if check:
            self.heap.check()

    def reallocate(self, address, size):
        self.heap.request = Request(size=size)
        return self.heap.reallocate(START + address, max(size, 1)) - START

    def end(self, thread):
        self.heap.request = Request(thread=thread)
        self.heap.end_thread()
        self.heap.check()


def test_a_page_that_is_given_up_is_taken_back_by_a_free():
    program = Program(page_full_retain=0)
    blocks = [program.malloc(8192) for _ in range(8)]
    assert program.malloc(8192) == PAGE
    program.free(blocks[5])
    assert [program.malloc(8192) for _ in range(7)] == [PAGE + i * 8192 for i in range(1, 8)]
    assert program.malloc(8192) == blocks[5]


@pytest.mark.parametrize(
    ("rule", "place"), [(ReclaimOnFree.ANY, 3), (ReclaimOnFree.OWN, 8), (ReclaimOnFree.NEVER, 8)]
)
def test_a_thread_may_take_over_the_page_in_which_it_frees(rule, place):
    program = Program(page_reclaim_on_free=rule)
    blocks = [program.malloc(8192, thread=1) for _ in range(8)]
    program.malloc(16)
    program.end(1)
    for block in blocks[1:4]:
        program.free(block)
    taken = [program.malloc(8192) for _ in range(3)]
    assert (taken[0] in blocks) == (place == 3 or rule is not ReclaimOnFree.ANY)
    assert sorted(taken) == blocks[1:4]


def test_a_large_request_that_no_arena_has_room_for_makes_one_that_stays():
    program = Program(mechanism=True, word=8)
    program.malloc(16)
    for _ in range(2):
        program.free(program.malloc(230 * MIB))
    page_map = 3 * 64 * KIB  # each covers 512 MiB around the three blocks
    assert program.heap.blocks.mapped == (3 << 30) + page_map


def test_slices_are_purged_after_a_delay_by_a_full_collection():
    program = Program(purge_delay=1, arena_purge_mult=1, tick=10**6, allow_thp=0, generic_collect=0)
    purged = []
    program.heap.discard = lambda address, size: purged.append((address - START, size))
    program.free(program.malloc(MIB))
    for _ in range(999):
        assert purged == []
        program.free(program.malloc(2000), check=False)
    assert purged == [(i * PAGE, PAGE) for i in range(1, 16)]  # all pages but the page in use
