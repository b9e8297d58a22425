"""Pools of fixed-size blocks, compared with all choices of sizes."""

from itertools import combinations

import numpy as np
import pytest

from simalloc.pool.block_pools import block_pools
from simalloc.pool.declarations import DECLARATIONS
from simalloc.trace import Op, Trace


def drawn(seed, events=120, sizes=9):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(1, 200, sizes)
    live, op, number, size = [], [], [], []
    for event in range(events):
        free = bool(live) and rng.random() < 0.45
        op.append(Op.FREE if free else Op.MALLOC)
        number.append(live.pop(rng.integers(len(live))) if free else event)
        size.append(0 if free else int(rng.choice(kinds)))
        if not free:
            live.append(event)
    return Trace.from_events(op, number, size)


def cost_of(trace, blocks, heap_cost):
    """Return the bytes of pools with these block sizes, and the live bytes outside the pools."""
    counts, peaks = dict.fromkeys(blocks, 0), dict.fromkeys(blocks, 0)
    rest = most = 0
    size_of = {}
    for op, number, size in zip(trace.op, trace.object, trace.size, strict=True):
        if op == Op.MALLOC:
            size_of[number] = -(-int(size) // 4) * 4
        asked, step = size_of[number], 1 if op == Op.MALLOC else -1
        block = next((each for each in blocks if each >= asked), None)
        if block is None:
            rest += step * asked
        else:
            counts[block] += step
            peaks[block] = max(peaks[block], counts[block])
        most = max(most, rest)
    return sum(block * peak for block, peak in peaks.items()) + round(most * heap_cost)


@pytest.mark.parametrize("heap_cost", [1.0, 1.4])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_no_other_sizes_take_less(number, heap_cost):
    for seed in range(4):
        trace = drawn(seed)
        sizes = sorted({-(-int(size) // 4) * 4 for size in trace.size if size})
        found = block_pools([trace], number, heap_cost)
        least = min(cost_of(trace, some, heap_cost) for some in combinations(sizes, number))
        assert found.pool_bytes + round(found.rest_bytes * heap_cost) == least
        assert cost_of(trace, [pool.size for pool in found.pools], heap_cost) == least


def test_pools_serve_every_trace():
    one, other = drawn(1), drawn(2)
    both = block_pools([one, other], 4, 2.0)
    for trace in (one, other):
        alone = cost_of(trace, [pool.size for pool in both.pools], 2.0)
        assert alone <= both.pool_bytes + round(both.rest_bytes * 2.0)


@pytest.mark.parametrize(("count", "alignment"), [(0, 4), (65, 4), (1, 3)])
def test_wrong_numbers(count, alignment):
    with pytest.raises(ValueError, match="; use "):
        block_pools([drawn(1)], count, alignment=alignment)


def test_declarations_have_every_pool():
    found = block_pools([drawn(3)], 3)
    assert set(DECLARATIONS) == {"lwIP", "Zephyr", "FreeRTOS", "NuttX"}
    first = found.pools[0]
    assert f"LWIP_MALLOC_MEMPOOL({first.count}, {first.size})" in DECLARATIONS["lwIP"](found)
    zephyr = DECLARATIONS["Zephyr"](found)
    assert f"K_MEM_SLAB_DEFINE(slab_{first.size}, {first.size}, {first.count}, " in zephyr
    assert f"[{first.count}][{first.size}]" in DECLARATIONS["FreeRTOS"](found)
    assert f".initialsize = {first.total}," in DECLARATIONS["NuttX"](found)
