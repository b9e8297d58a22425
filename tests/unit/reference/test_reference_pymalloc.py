"""pymalloc's rules that the recorded traces do not tell apart."""

import pytest

from simalloc.errors import PolicyError
from simalloc.heap.reference import heap_for
from simalloc.heap.reference.heap import Request
from simalloc.heap.reference.space import State
from simalloc.policy import find_policy


def made(text="pymalloc"):
    heap = heap_for(find_policy(text).description)
    heap.front, heap.below.front = heap, heap.below
    return heap


def malloc(heap, size, **asked):
    heap.request = Request(size, **asked)
    return heap.malloc(max(size, 1))


def is_small(heap, address):
    return heap.locate(address)[0] == -1


def test_only_some_requests_are_served():
    heap = made()
    served = {size: is_small(heap, malloc(heap, size)) for size in (0, 1, 512, 513)}
    assert served == {0: False, 1: True, 512: True, 513: False}
    assert not is_small(heap, malloc(heap, 64, alignment=64))
    assert not is_small(made(), malloc(made("pymalloc:zero_as_one=on"), 1))
    heap.check()


def test_a_block_moves_between_both_and_back():
    heap = made()
    address = malloc(heap, 100)
    heap.request = Request(85)
    assert heap.reallocate(address, 85) == address
    heap.request = Request(84)
    smaller = heap.reallocate(address, 84)
    assert smaller != address
    heap.request = Request(600)
    large = heap.reallocate(smaller, 600)
    assert not is_small(heap, large)
    heap.request = Request(20)
    assert not is_small(heap, heap.reallocate(large, 20)), "what is below stays there"


def test_an_emptied_pool_goes_on_where_it_was():
    heap = made()
    blocks = [malloc(heap, 64) for _ in range(3)]
    for address in blocks:
        heap.free(address)
    assert [malloc(heap, 64) for _ in range(3)] == blocks[::-1]
    other = made()
    first = malloc(other, 64)
    other.free(first)
    assert malloc(other, 32) == first, "a pool of another size begins anew"


@pytest.mark.parametrize(("version", "kept"), [("3.8", 0), ("3.9", 1), ("3.11", 1)])
def test_the_last_arena_is_kept_by_newer_versions(version, kept):
    heap = made(f"pymalloc:version={version}")
    heap.free(malloc(heap, 64))
    assert len(heap.arenas) == kept
    heap.check()


def test_tables_are_the_other_allocator_s():
    heap = made("pymalloc:below=scudo")
    malloc(heap, 64)
    large = [size for _, size in heap.blocks.in_state(State.TABLE) if size > 100_000]
    assert sorted(large) == [131072 + 16, 262144 + 16], "the nodes of the tree, and headers"
    assert heap.below.figures()["mappings_secondary"] == 2
    off = made("pymalloc:below=scudo,mechanism=off")
    malloc(off, 64)
    assert off.below.figures()["mapped_secondary"] == off.below.figures()["mapped_primary"] == 0


def test_below_is_another_policy_of_heaps():
    for below in ("pymalloc", "pytorch", "best-possible", "nothing"):
        with pytest.raises(PolicyError):
            made(f"pymalloc:below={below}")
