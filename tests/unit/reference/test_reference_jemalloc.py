"""jemalloc on heaps small enough to follow the rules by hand."""

import pytest

from simalloc.errors import PolicyError
from simalloc.heap.reference import heap_for
from simalloc.heap.reference.families.jemalloc.size_classes import Sizes, class_number
from simalloc.heap.reference.families.jemalloc.tcache import capacities
from simalloc.heap.reference.parts.pairing_heap import PairingHeap
from simalloc.policy.families.jemalloc import Jemalloc

M = 1 << 20
UNCACHED = {"tcache": False, "dirty_decay_ms": -1, "narenas": 1}


def heap(*sizes, **parameters):
    """Return a heap with `sizes` allocated, and the objects' locations in their mappings."""
    made = heap_for(Jemalloc(**UNCACHED | parameters))
    return made, [made.locate(made.malloc(size))[1:] for size in sizes]


def pages(made):
    """Return the numbers of active, dirty, muzzy and retained pages."""
    figures = made.figures()
    return (
        figures["active"] // 4096,
        figures["pdirty"],
        figures["pmuzzy"],
        figures["retained"] // 4096,
    )


def test_slabs_have_as_many_pages_as_is_said():
    slabs = Sizes(Jemalloc(slab_sizes="1-4096:17|100-200:1|14336-14336:1")).slabs
    pages = [slabs[class_number(size)] // 4096 for size in (8, 48, 80, 112, 4096, 14336)]
    assert pages == [1, 6, 10, 1, 17, 4], "at most 512 regions, at least one"


def test_caches_hold_as_many_objects_as_is_said():
    held = capacities(Jemalloc(tcache_ncached_max="1-30:9|20000-90000:0"))
    sizes = (8, 32, 48, 16384, 20480, 32768)
    assert [held[class_number(size)] for size in sizes] == [9, 9, 200, 20, 0, 0]


@pytest.mark.parametrize("text", ["1-4096", "4096-1:2", "|".join(["1-2:3"] * 9)])
def test_other_spans_are_refused(text):
    with pytest.raises(PolicyError, match="use up to 8"):
        Jemalloc(slab_sizes=text)


def test_without_a_decay_time_freed_pages_are_retained():
    made, _ = heap(dirty_decay_ms=0)
    made.free(made.malloc(100_000))
    assert pages(made) == (0, 0, 0, 512)
    assert made.blocks.mapped == 0


def test_mappings_grow_by_page_classes():
    made, found = heap(2 * M, 2 * M, 100, 3 * M, disable_large_size_classes=False)
    assert found == [(0, 0), (1, 0), (1, 2 * M), (2, 0)]
    assert pages(made)[3] == 128 - 7, "of 2.5 MiB two are used, and a slab of 7 pages"


def test_capacities_follow_the_options():
    assert capacities(Jemalloc())[:5] == [200, 200, 200, 200, 128]
    assert capacities(Jemalloc(tcache_nslots_small_max=51, tcache_max=48)) == [50, 50, 50, 50]
    assert len(capacities(Jemalloc(tcache_max=1 << 20))) == 41, "5.3.1 takes 32 KiB at the most"


def test_oversize_requests_have_an_arena_of_their_own():
    made, _ = heap(100, dirty_decay_ms=1000)
    address = made.malloc(9 * M)
    assert made.locate(address)[0] == 1
    made.free(address)
    assert pages(made)[1] == 0, "whose pages do not wait"


class Node:
    """A number as a node of a pairing heap."""

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
