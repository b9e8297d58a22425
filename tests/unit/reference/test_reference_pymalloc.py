"""Rules of pymalloc that the recorded traces do not test."""

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
