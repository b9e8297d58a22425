"""The largest free block after each event."""

import numpy as np
import pytest

from simalloc.heap import FREE, simulate
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.whole_trace import heap_of
from simalloc.policy import UserPolicy
from simalloc.trace import Op, Trace

ENGINES = ("core", "core-portable", "reference")
M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC

TRACE = Trace.from_events([M, M, M, F, F, M], [0, 1, 2, 1, 0, 3], [40, 60, 10, 0, 0, 30])


def series(trace, policy, **options):
    """Return the size after each event; a short trace has one interval per event."""
    largest = simulate(trace, policy, largest_free=True, checked=True, **options).largest_free
    assert largest.timeline.interval == 1
    return largest.timeline.heap_low.tolist()


def test_nobody_asks():
    assert simulate(TRACE, "first-fit-ao").largest_free is None


@pytest.mark.parametrize("engine", ENGINES)
def test_blocks_are_freed_merged_and_cut(engine):
    sizes = series(TRACE, "first-fit-ao:growth=1", engine=engine)
    assert sizes == [0, 0, 0, 60, 100, 70]
    largest = simulate(
        TRACE, "first-fit-ao:growth=1", engine=engine, largest_free=True
    ).largest_free
    assert (largest.min_bytes, largest.final_bytes, largest.peak_bytes) == (0, 70, 100)
    assert (largest.peak_event, largest.mean_bytes) == (4, 230 / 6)


@pytest.mark.parametrize("engine", ENGINES)
def test_bytes_that_the_capacity_allows_are_one_block_with_the_last(engine):
    assert series(TRACE, "first-fit-ao:growth=1,capacity=150", engine=engine) == [
        110, 50, 40, 60, 100, 70,
    ]  # fmt: skip
    last = Trace.from_events([M, M, F, M], [0, 1, 1, 2], [10, 20, 0, 95])
    policy = "first-fit-ao:growth=1,capacity=100"
    assert series(last, policy, engine=engine) == [90, 70, 90, 90], "the last one is refused"


@pytest.mark.parametrize("engine", ENGINES)
def test_new_memory_that_does_not_merge_is_a_block_of_its_own(engine):
    last = Trace.from_events([M, M, F], [0, 1, 1], [10, 50, 0])
    policy = "first-fit-ao:growth=1,capacity=100,coalescing=none"
    assert series(last, policy, engine=engine) == [90, 40, 50]


@pytest.mark.parametrize("engine", ENGINES)
def test_blocks_of_fixed_sizes_are_not_one(engine):
    """New memory of 4,096 bytes consists of 64 blocks of 64 bytes."""
    trace = Trace.from_events([M, M], [0, 1], [50, 3000])
    assert series(trace, "simple-seg-2n:growth=4K", scale=1, engine=engine) == [64, 64]


@pytest.mark.parametrize("engine", ENGINES)
def test_blocks_that_wait_in_a_cache_do_not_count(engine):
    trace = Trace.from_events([M, M, F], [0, 1, 0], [16, 16, 0])
    assert series(trace, "first-fit-ao:growth=1,quick=4K", engine=engine) == [0, 0, 0]


class Bump(UserPolicy):
    """Policy that never reuses a block."""

    def malloc(self, heap, size):
        return heap.extend(size)

    def free(self, heap, block):
        pass


@pytest.mark.parametrize("engine", ["core", "reference"])
def test_policies_in_python(engine):
    assert series(TRACE, Bump, scale=1, engine=engine) == [0, 0, 0, 60, 60, 60]


@pytest.mark.parametrize("engine", ["core", "reference"])
def test_a_device_that_has_memory_left(engine):
    trace = Trace.from_events([M, M, F], [0, 1, 0], [1 << 20, 1 << 20, 0])
    one, two, freed = series(trace, "pytorch:capacity=64M", engine=engine)
    assert one == two == 62 << 20, "both are cut from one segment of 2 MiB"
    assert freed == 62 << 20


def test_a_pool_counts_the_memory_that_it_has_not_used_yet():
    trace = Trace.from_events([M, M, F], [0, 1, 0], [1000, 1000, 0])
    sizes = series(trace, "freertos-heap-4:capacity=4096")
    assert 4096 - 2 * 1100 < sizes[1] < sizes[0] < 4096 - 1000
    assert sizes[2] == sizes[1], "the hole of the first object is smaller"


@pytest.mark.parametrize("seed", range(5))
def test_a_placement_has_the_gaps_between_its_objects(seed):
    random = np.random.default_rng(seed)
    op, number, size, live = [], [], [], []
    for event in range(60):
        frees = live and random.random() < 0.5
        one = live.pop(random.integers(len(live))) if frees else event
        op.append(F if frees else M)
        number.append(one)
        size.append(0 if frees else int(random.integers(1, 50)))
        live += [] if frees else [one]
    trace = Trace.from_events(op, number, size)
    for name in ("best-possible", "iree"):
        heap = heap_of(Setting.of(trace, name, scale=1))
        expected = []
        for events in range(1, len(trace) + 1):
            heap.go_to(events)
            address, size, slot = np.empty((3, heap.block_count()), np.int64)
            heap.blocks(0, address, size, slot)
            expected.append(size[slot == FREE].max(initial=0))
        assert series(trace, name, scale=1) == expected
