"""jemalloc on heaps small enough to follow the rules by hand."""

from simalloc.heap.reference import heap_for
from simalloc.heap.reference.families.jemalloc.cache import capacities
from simalloc.heap.reference.families.jemalloc.decay import Decay
from simalloc.heap.reference.families.jemalloc.sizes import (
    SMALL_CLASSES,
    Sizes,
    class_number,
    regions_of,
)
from simalloc.heap.reference.heap import Request
from simalloc.heap.reference.parts.pairing_heap import PairingHeap
from simalloc.policy.families.jemalloc import Jemalloc, Version

M = 1 << 20
UNCACHED = {"tcache": False, "dirty_decay_ms": -1, "narenas": 1}


def heap(*sizes, **parameters):
    """Return a heap with `sizes` allocated, and where they lie in their mappings."""
    made = heap_for(Jemalloc(**UNCACHED | parameters))
    return made, [made.locate(made.malloc(size))[1:] for size in sizes]


def pages(made):
    """Return how many pages are active, dirty, muzzy and retained."""
    told = made.figures()
    return told["active"] // 4096, told["pdirty"], told["pmuzzy"], told["retained"] // 4096


def test_classes_are_four_a_doubling():
    assert SMALL_CLASSES[:9] == (8, 16, 32, 48, 64, 80, 96, 112, 128)
    assert (SMALL_CLASSES[-1], len(SMALL_CLASSES)) == (14336, 36)
    assert [regions_of(class_number(size)) for size in (8, 48, 4096, 14336)] == [512, 256, 1, 2]
    assert [class_number(size) for size in (14337, 20480, 20481, 8 * M)] == [36, 37, 38, 72]


def test_large_objects_are_multiples_of_a_page_since_5_3_1():
    old, new = (Sizes(Jemalloc(version=version)) for version in Version)
    assert (old.usable(33000), new.usable(33000)) == (40960, 36864)
    assert (old.batched(36864), new.batched(36864)) == (36864, 40960)


def test_a_search_begins_at_the_bin_whose_extents_all_fit():
    sizes = Sizes(Jemalloc(mechanism=True))
    assert sizes.bin_of(9 * 4096) == 10 * 4096, "eight pages and the pad"
    assert sizes.first_bin(9 * 4096) == 10 * 4096
    assert sizes.first_bin(10 * 4096) == 12 * 4096, "eleven pages: ten and the pad"


def test_a_slab_gives_its_lowest_region():
    made = heap_for(Jemalloc(**UNCACHED))
    first, second, _ = (made.malloc(48) for _ in range(3))
    made.free(second)
    made.free(first)
    assert [made.malloc(40) for _ in range(3)] == [first, second, first + 3 * 48]


def test_only_a_large_extent_merges_when_freed():
    made, _ = heap()
    first, second, large = (made.malloc(size) for size in (4096, 4096, 16384))
    made.free(first)
    made.free(second)
    assert [made.block_size(address) for address in (first, second)] == [4096, 4096]
    made.free(large)
    assert made.block_size(first) == 6 * 4096
    assert pages(made) == (0, 6, 0, 512 - 6)


def test_without_a_decay_time_freed_pages_are_retained():
    made, _ = heap(dirty_decay_ms=0)
    made.free(made.malloc(100_000))
    assert pages(made) == (0, 0, 0, 512)
    assert made.blocks.mapped == 0


def test_mappings_grow_by_page_classes():
    made, found = heap(2 * M, 2 * M, 100, 3 * M, disable_large_size_classes=False)
    assert found == [(0, 0), (1, 0), (1, 2 * M), (2, 0)]
    assert pages(made)[3] == 128 - 7, "of 2.5 MiB two are used, and a slab of 7 pages"


def test_the_cache_is_filled_and_flushed_by_halves():
    made = heap_for(Jemalloc(narenas=1, experimental_tcache_gc=False))
    addresses = [made.malloc(4096) for _ in range(30)]
    assert addresses[:12] == sorted(addresses[:12]), "ten at a time, the first on top"
    for address in addresses[:21]:
        made.free(address)
    assert made.figures()["tcache_bytes"] <= 20 * 4096
    assert made.malloc(4096) == addresses[20]


def test_capacities_follow_the_options():
    assert capacities(Jemalloc())[:5] == [200, 200, 200, 200, 128]
    assert capacities(Jemalloc(tcache_nslots_small_max=51, tcache_max=48)) == [50, 50, 50, 50]
    assert len(capacities(Jemalloc(tcache_max=1 << 20))) == 41, "5.3.1 takes 32 KiB at the most"


def test_objects_go_to_the_cache_of_the_thread_that_frees_them():
    made = heap_for(Jemalloc(narenas=2))
    address = made.malloc(100)
    made.request = Request(thread=1)
    other = made.malloc(100)
    assert made.locate(address)[0] != made.locate(other)[0], "an arena for each"
    made.free(address)
    assert made.malloc(100) == address
    made.free(address)
    made.end_thread()
    assert address not in made.cached()


def test_oversize_requests_have_an_arena_of_their_own():
    made, _ = heap(100, dirty_decay_ms=1000)
    address = made.malloc(9 * M)
    assert made.locate(address)[0] == 1
    made.free(address)
    assert pages(made)[1] == 0, "whose pages do not wait"


def test_half_of_what_was_freed_stays_at_half_of_the_decay_time():
    decay = Decay(1000, seed=1, now=0)
    interval = 1000 * 1_000_000 // 200
    assert not decay.advance(interval - 1, 800)
    assert decay.advance(2 * interval, 800)
    assert decay.limit == 800, "as good as new"
    assert decay.advance(102 * interval, 800)
    assert 390 < decay.limit < 410


class Node:
    """A number in a pairing heap."""

    def __init__(self, number):
        self.key = (number,)
        self.child = self.sibling = self.before = None


def test_a_pairing_heap_gives_the_least_whatever_was_removed():
    heap = PairingHeap()
    nodes = [Node(number * 37 % 101) for number in range(101)]
    for node in nodes:
        heap.insert(node)
    for node in nodes[::3]:
        heap.remove(node)
    left = sorted(node.key for node in nodes if node not in nodes[::3])
    for key in left:
        assert heap.least().key == key
        heap.remove(heap.least())
    assert not heap
