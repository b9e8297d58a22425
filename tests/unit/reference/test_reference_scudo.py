"""Scudo's rules one by one, on heaps small enough to follow by hand."""

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.families.scudo.configuration import CONFIGURATIONS
from simalloc.heap.reference.families.scudo.primary import draw_slots
from simalloc.heap.reference.heap import Request
from simalloc.heap.reference.space import State
from simalloc.policy.families.scudo import Config, Purge, Scudo

MS = 1_000_000


def made(**parameters):
    return heap_for(Scudo(mechanism=True, word=8, **parameters))


def malloc(heap, size, **asked):
    heap.request = Request(size, **asked)
    return heap.malloc(size)


def test_the_seed_decides_slots_and_first_blocks():
    # Values were read from the library's memory with seed 1: class 0, 1, 2, 28 and 43 of 45.
    slots = draw_slots(CONFIGURATIONS[Config.DEFAULT], 1)
    places = {number: (slots[number].number, slots[number].first) for number in (0, 1, 2, 9, 18)}
    assert places == {
        0: (40, 45056),
        1: (1, 24576),
        2: (30, 20480),
        9: (15, 36864),
        18: (12, 61440),
    }


def test_an_aligned_block_has_waste_in_front():
    heap = made()
    address = malloc(heap, 100, alignment=256)
    assert (address + 16) % 256 == 0
    waste = heap.blocks.in_state(State.WASTE)
    assert sum(size for _, size in waste) + heap.block_size(address) == 384
    heap.free(address)
    assert heap.blocks.in_state(State.WASTE) == []
    heap.check()


def test_pages_of_large_blocks_go_back_after_the_interval():
    heap = made(release_to_os_interval_ms=10)
    one, other = malloc(heap, 200_000), malloc(heap, 200_000)
    heap.free(one)
    assert heap.figures()["madvise_calls"] == 0
    heap.request = Request(time=10 * MS)
    heap.free(other)
    assert heap.figures()["madvise_calls"] == 1
    heap.give_back()
    assert heap.figures()["madvise_bytes"] == 2 * (200_000 // 4096 + 1) * 4096


def test_a_purge_of_all_empties_the_local_cache():
    returned = {}
    for purge in Purge:
        heap = made(purge=purge)
        for address in [malloc(heap, 8000) for _ in range(2)]:
            heap.free(address)
        heap.give_back()
        returned[purge] = heap.figures()["madvise_bytes"]
        heap.check()
    assert 0 < returned[Purge.PURGE] < returned[Purge.ALL] == 8 * 8192


def test_threads_have_caches_of_their_own_or_share_two():
    heap = made()
    address = malloc(heap, 16, thread=1)
    heap.request = Request(thread=2)
    heap.free(address)  # into the cache for threads that have only freed
    assert malloc(heap, 16, thread=2) != address
    shared = made(config=Config.ANDROID)
    address = malloc(shared, 16, thread=7)
    shared.request = Request(thread=8)
    shared.free(address)
    assert malloc(shared, 16, thread=9) != address
    assert malloc(shared, 16, thread=10) == address, "the fourth thread has the cache of the second"


def test_the_quarantine_keeps_freed_blocks_for_a_while():
    heap = made(
        quarantine_size_kb=16, thread_local_quarantine_size_kb=8, quarantine_max_chunk_size=100
    )
    first = malloc(heap, 100)
    heap.free(first)
    assert malloc(heap, 100) != first
    assert heap.blocks.in_state(State.TABLE), "the batch has a block of its own"
    large = malloc(heap, 101)
    heap.free(large)
    assert malloc(heap, 101) == large
    for _ in range(200):
        heap.free(malloc(heap, 100))
    assert heap.cached()
    assert first in [malloc(heap, 100) for _ in range(300)]
    heap.check()
