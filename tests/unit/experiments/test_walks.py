"""The walks of frees, as ranks, against the lists of the reference engine, walked."""

import numpy as np
import pytest

from experiments.ellermann.walks import FreeList, pages_touched, walks
from simalloc.heap import simulate
from simalloc.heap.reference import heap_for
from simalloc.policy import policy
from simalloc.trace import Op
from simalloc.trace.workloads import uniform

TRACE = uniform(1, objects=800, smallest=8, largest=300, shortest=20, longest=200, name="short")


def walked(blocks, rover, address):
    """Walk a circle of free blocks from the rover, or the front, to the place of an address."""
    if not blocks:
        return 0
    start = blocks.index(rover) if rover is not None else 0
    place = sum(block < address for block in blocks) % len(blocks)
    steps = 1
    at = start
    while at != place:
        at = (at + 1) % len(blocks)
        steps += 1
    if rover is None and address > blocks[-1]:
        return len(blocks)
    return steps


@pytest.mark.parametrize("name", ["first-fit-split", "next-fit-split"])
def test_the_list_is_the_reference_engines(name):
    description = policy(name).description
    heap = heap_for(description)
    free_list = FreeList(description.minimum_split, description.growth)
    next_fit = name.startswith("next")
    where, frees = {}, []
    events = zip(TRACE.op, TRACE.object.tolist(), TRACE.size.tolist(), strict=True)
    for op, number, size in events:
        if op == Op.FREE:
            address, taken = where.pop(number)
            rover = heap.rover if next_fit else None
            steps = free_list.looked_at(address, from_rover=next_fit)
            assert steps == walked(list(heap.listed()), rover, address)
            frees.append(steps)
            free_list.free(address, taken)
            heap.free(address)
        else:
            address = heap.malloc(size)
            where[number] = address, free_list.allocate(address, size)
            assert where[number][1] == heap.block_size(address)
        assert free_list.addresses == list(heap.listed())
        assert not next_fit or free_list.rover == heap.rover
    run = simulate(TRACE, name, scale=1, addresses=True)
    assert walks(TRACE, run).at_free == pytest.approx(np.mean(frees))


def test_pages():
    assert pages_touched(np.array([0, 4095, 4096, -1, 9000]), span=2) == 1.5
