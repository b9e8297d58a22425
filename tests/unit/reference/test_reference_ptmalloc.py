"""glibc's malloc on heaps small enough to follow the rules by hand."""

import pytest
from small_traces import heap_with

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.heap import Request
from simalloc.heap.simulate import simulate
from simalloc.policy.families.ptmalloc import GlibcVersion, Ptmalloc
from simalloc.trace.trace import Trace

OLDEST = GlibcVersion.GLIBC_2_36
PLAIN = {
    "version": OLDEST,
    "growth": 1000,
    "top_pad": 0,
    "mmap_max": 0,
    "mxfast": 0,
    "tcache_count": 0,
    "word": 8,
}


def heap(*sizes, **parameters):
    """Return a heap with `sizes` allocated, without thread caches and fast bins."""
    return heap_with(Ptmalloc(**PLAIN | parameters), *sizes)


def process(threads=1, **parameters):
    """Return the heap of a 64-bit program, and a function that lets one of its threads call."""
    made = heap_for(Ptmalloc(mechanism=True, word=8, **{"version": OLDEST} | parameters))
    made.threads = threads

    def call(thread, size=0, *, free=None, is_zeroed=False):
        made.request = Request(size=size, thread=thread, is_zeroed=is_zeroed)
        if free is None:
            return made.malloc(max((size + 23) // 16 * 16, 32))
        return made.free(free)

    return made, call


def arena_of(made, address):
    return made.locate(address)[0]


def test_the_thread_cache_comes_first_and_holds_so_many():
    made = heap(20, 20, 20, 20, tcache_count=2)
    for address in (0, 20, 60):
        made.free(address)
    assert sorted(made.cached()) == [0, 20]
    assert made.free_blocks() == [(60, 940)], "the third merges with the top"
    assert [made.malloc(20) for _ in range(3)] == [20, 0, 60]


def test_fast_blocks_go_newest_first_and_fill_the_thread_cache():
    made = heap(*[20] * 6, mxfast=24, tcache_count=2)
    for address in (0, 20, 40, 60, 80):
        made.free(address)  # two blocks are cached; 40, 60, 80 are in the fast bin
    assert [made.malloc(20) for _ in range(2)] == [20, 0]
    assert made.malloc(20) == 80, "60 and 40 move to the thread cache"
    assert [made.malloc(20) for _ in range(2)] == [40, 60]


def test_freed_small_blocks_go_into_their_bins_at_once_since_2_41():
    made = heap(100, 10, 50, 10, 60, 10, version=GlibcVersion.GLIBC_2_41)
    for address in (0, 110, 170):
        made.free(address)
    assert (made.malloc(50), made.visited) == (110, 1), "nothing is unsorted"


def test_the_top_is_padded_and_lowered():
    made = heap(100, top_pad=500)
    assert (made.brk, made.malloc(900), made.brk) == (1000, 100, 1000)
    made = heap(100, 70000, 10, trim_threshold=60000, growth=1000)
    made.free(70100)
    made.free(100)
    assert (made.brk, made.free_blocks()) == (1000, [(100, 900)])


def test_the_mapping_threshold_rises_with_what_is_freed_unless_it_is_given():
    for given, is_mapped in (({}, False), ({"mmap_threshold": 128 * 1024}, True)):
        made, call = process(**given)
        call(0, free=call(0, 200_000))
        assert (made.locate(call(0, 200_000))[0] < 0) is is_mapped


def test_threads_get_arenas_of_their_own_and_then_share_them_the_newest_first():
    made, call = process(8, arena_max=3)
    arenas = [arena_of(made, call(thread, 100)) for thread in range(8)]
    assert arenas == [0, 1, 2, 0, 2, 1, 0, 2]


@pytest.mark.parametrize(
    ("version", "arenas"),
    [
        (OLDEST, [0, 1, 2, 3, 4, 5, 6, 7, 0, 7]),
        (GlibcVersion.GLIBC_2_44, [0, 1, 2, 0, 2, 1, 0, 2, 1, 0]),
    ],
)
def test_the_cores_limit_the_arenas_once_there_are_enough(version, arenas):
    cores = 1 if version is OLDEST else 3
    _, call = made = process(10, version=version, arena_test=2, cores=cores)
    assert [arena_of(made[0], call(thread, 100)) for thread in range(10)] == arenas


def test_what_a_thread_has_cached_goes_back_to_its_arena_when_it_ends():
    made, call = process(2)
    kept = [call(0, 500) for _ in range(2)]
    call(1, free=kept[0])
    assert made.cached() == kept[:1]
    made.request = Request(thread=1)
    made.end_thread()
    assert made.cached() == []
    assert call(0, 500) == kept[0]


@pytest.mark.parametrize(("version", "taken"), [(OLDEST, False), (GlibcVersion.GLIBC_2_41, True)])
def test_calloc_takes_from_the_cache_since_2_41(version, taken):
    _, call = process(version=version)
    address = call(0, 100)
    call(0, free=address)
    assert (call(0, 100, is_zeroed=True) == address) is taken


def test_creating_threads_allocates_a_block_for_each():
    source = Trace.from_events([0, 1, 0, 1], [0, 0, 1, 1], [100, 0, 100, 0], thread=[0, 0, 1, 1])
    for switch, before in (("auto", 288), ("on", 288), ("off", 0)):
        run = simulate(source, f"ptmalloc:thread_blocks={switch}", engine="reference")
        assert run.addresses[0] == before
    alone = Trace.from_events([0, 1], [0, 0], [100, 0])
    assert simulate(alone, "ptmalloc", engine="reference").addresses[0] == 0
