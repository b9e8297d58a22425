"""mimalloc on heaps small enough to follow policy/families/mimalloc.md by hand, without mechanism.

Addresses are told from the first page on; each small page has 64 KiB.
"""

import pytest

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.families.mimalloc.sizes import block_size, system_size
from simalloc.heap.reference.heap import Request
from simalloc.policy.families.mimalloc import Mimalloc, ReclaimOnFree

START = 1 << 62
PAGE = 65536
KIB = 1024
MIB = 1024 * KIB


class Program:
    """A program's calls; addresses count from the heap's start."""

    def __init__(self, **parameters):
        self.heap = heap_for(Mimalloc(**parameters))

    def malloc(self, size, thread=0, alignment=0):
        self.heap.request = Request(size=size, thread=thread, alignment=alignment)
        return self.heap.malloc(max(size, 1)) - START

    def free(self, address, thread=0):
        self.heap.request = Request(thread=thread)
        self.heap.free(START + address)
        self.heap.check()

    def reallocate(self, address, size):
        self.heap.request = Request(size=size)
        return self.heap.reallocate(START + address, max(size, 1)) - START

    def end(self, thread):
        self.heap.request = Request(thread=thread)
        self.heap.end_thread()
        self.heap.check()


def test_sizes_are_four_to_each_doubling():
    sizes = [block_size(size) for size in (0, 8, 9, 17, 64, 65, 80, 129, 1025, 460_000)]
    assert sizes == [8, 8, 16, 32, 64, 80, 80, 160, 1280, 512 * KIB]
    asked = [system_size(mib * MIB + 1, PAGE) for mib in (1, 2, 8, 32)]
    assert asked == [MIB + PAGE, 2 * MIB + 256 * KIB, 9 * MIB, 36 * MIB]


def test_freed_blocks_wait_until_the_others_are_used_up():
    program = Program()
    assert [program.malloc(2048) for _ in range(3)] == [0, 2048, 4096]
    program.free(2048)
    program.free(0)
    assert program.malloc(2048) == 6144  # the fourth of the 8 KiB that were put on the list
    assert [program.malloc(2048) for _ in range(2)] == [0, 2048]
    assert program.malloc(2048) == 8192


def test_an_empty_page_is_kept_for_sixteen_searches_if_it_is_the_only_one():
    program = Program()
    program.free(program.malloc(5000))
    sizes = [16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512]
    assert [program.malloc(size) // PAGE for size in sizes] == [*range(1, 16), 0]


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


def test_what_another_thread_frees_is_seen_when_nothing_else_is_left():
    program = Program()
    blocks = [program.malloc(8192) for _ in range(8)]
    program.free(blocks[3], thread=1)
    assert program.malloc(8192) == blocks[3]


def test_the_pages_of_a_thread_that_ends_are_taken_over():
    program = Program()
    blocks = [program.malloc(100, thread=1) for _ in range(3)]
    program.end(1)
    program.free(blocks[1], thread=2)  # a free makes no thread
    assert program.malloc(100) == 3 * 112
    assert program.heap.blocks.mapped == 1 << 30


def test_a_chunk_is_kept_for_the_kind_of_run_that_begins_it():
    program = Program()
    assert program.malloc(MIB) == 0
    assert program.malloc(600_000) == MIB
    assert program.malloc(16) == 32 * MIB  # the next chunk, for single slices from now on
    program.free(0)
    assert program.malloc(MIB) == 32 * MIB + PAGE  # chunks for single slices come first


def test_a_large_request_that_no_arena_has_room_for_makes_one_that_stays():
    program = Program(mechanism=True, word=8)
    program.malloc(16)
    for _ in range(2):
        program.free(program.malloc(230 * MIB))
    page_map = 3 * 64 * KIB  # for 512 MiB each, around the three blocks
    assert program.heap.blocks.mapped == (3 << 30) + page_map


def test_blocks_are_aligned():
    program = Program()
    for alignment in (8, 64, 4096, PAGE, MIB):
        assert program.malloc(100, alignment=alignment) % alignment == 0
    program.malloc(24)
    inside = program.malloc(100_000, alignment=4096)
    assert program.heap.block_size(START + inside) >= 100_000
    program.free(inside)


def test_a_block_shrinks_to_half_where_it_is():
    program = Program()
    block = program.malloc(1000)
    assert program.reallocate(block, 512) == block
    moved = program.reallocate(block, 511)
    assert moved == PAGE
    assert program.reallocate(moved, 0) != moved


def test_slices_are_purged_after_a_delay_by_a_full_collection():
    program = Program(purge_delay=1, arena_purge_mult=1, tick=10**6, allow_thp=0, generic_collect=0)
    purged = []
    program.heap.discard = lambda address, size: purged.append((address - START, size))
    program.free(program.malloc(MIB))
    for _ in range(1000):
        assert purged == []
        program.free(program.malloc(2000))
    assert purged == [(i * PAGE, PAGE) for i in range(1, 16)]  # all but the page in use
