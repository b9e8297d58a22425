"""simulate(): its arguments, results and errors."""

from contextlib import suppress

import numpy as np
import pytest

from simalloc.errors import PolicyError, SimallocError
from simalloc.heap import Realloc, heap_snapshot, simulate
from simalloc.heap.reference.space import MAX_BREAK
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay
from simalloc.measure import fragmentation
from simalloc.policy import HEAP_POLICIES, find_policy
from simalloc.policy.families.base import parameter_ranges
from simalloc.trace import Op, Trace
from simalloc.trace.catalogue import load
from simalloc.trace.shapes import empty_spans

M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC

# Three blocks of 100 bytes are allocated and the middle one is freed. The next block of 150 bytes
# does not fit the hole.
HOLE = Trace.from_events(
    [M, M, M, F, M], [0, 1, 2, 1, 3], [100, 100, 100, 0, 150], name="hole"
)  # fmt: skip

CODES = {False: "core", True: "core-portable"}
"""Engines in C; the key is true for the engine without vector code."""


def test_measures_by_hand():
    run = simulate(HOLE, "first-fit-ao:growth=1600", addresses=True)
    assert run.addresses.tolist() == [0, 1600, 3200, -1, 4800]
    assert run.peak_heap_bytes == 500  # three growths of 100, one of 200
    assert run.max_live_bytes == 350
    assert run.counters.growths == 4
    measures = fragmentation(run)
    assert measures[4] == pytest.approx(500 / 350 - 1)
    assert measures[3] == pytest.approx(500 / 350 - 1)
    assert measures[2] == pytest.approx(500 / 350 - 1)
    ratios = [1, 1, 1, 300 / 200, 500 / 350]
    assert measures[1] == pytest.approx(sum(ratios) / 5 - 1)
    by_bytes = (100 + 100 + 100 + 150 * 500 / 350) / 450
    assert measures.mean_by_bytes == pytest.approx(by_bytes - 1)


def test_the_timeline_keeps_extremes_of_any_length():
    random = np.random.default_rng(7)
    sizes = random.integers(1, 5000, 10_000)
    op = np.repeat([M, F], 10_000)
    trace = Trace.from_events(op, np.r_[0:10_000, 0:10_000], np.r_[sizes, sizes * 0])
    timeline = simulate(trace, "best-fit-ao").timeline
    assert timeline.interval == 16  # 20,000 events in at most 2,048 intervals
    live = np.r_[np.cumsum(sizes), sizes.sum() - np.cumsum(sizes)].reshape(-1, 16)
    np.testing.assert_array_equal(timeline.live_low, live.min(axis=1))
    np.testing.assert_array_equal(timeline.live_high, live.max(axis=1))
    assert (np.diff(timeline.heap_high) >= 0).all(), "the heap never shrinks here"
    assert (timeline.heap_low[1:] >= timeline.heap_high[:-1]).all()


def test_an_empty_trace_has_no_measures():
    run = simulate(Trace.from_events([], [], []), "first-fit-ao")
    assert run.events == run.peak_heap_bytes == 0
    assert all(np.isnan(fragmentation(run)[number]) for number in (1, 2, 3, 4))
    assert len(run.timeline.live_low) == 0


def test_a_heap_that_outgrows_its_addresses_is_an_error():
    huge = [1 << 47] * 20
    trace = Trace.from_events([M] * 20, range(20), huge)
    with pytest.raises(SimallocError, match=r"event \d+ .* exceed 2\*\*62"):
        simulate(trace, "first-fit-ao", scale=4096)


def test_a_refill_of_absurd_size_costs_no_memory():
    run = simulate(HOLE, "simple-seg-2n:growth=1024G")
    assert run.counters.free_blocks_peak > 1 << 28


@pytest.mark.parametrize("scale", [0, -1, 4097, 1.5, True, "16"])
def test_scales_out_of_range_are_refused(scale):
    with pytest.raises(SimallocError, match="scale"):
        simulate(HOLE, "first-fit-ao", scale=scale)


def test_unknown_policies_and_engines_are_refused():
    with pytest.raises(PolicyError, match="did you mean first-fit-ao"):
        simulate(HOLE, "first-fit-oa")
    with pytest.raises(SimallocError, match="engine"):
        simulate(HOLE, "first-fit-ao", engine="quantum")


@pytest.mark.parametrize("name", [name for name in HEAP_POLICIES if name != "best-possible"])
def test_the_core_takes_whatever_a_description_takes(name):
    """Tests both ends of each parameter's range, unless the description restricts them further."""
    described = find_policy(name)
    for parameter, allowed in parameter_ranges(type(described.description)).items():
        for value in (allowed.low, allowed.high):
            with suppress(PolicyError):
                extreme = described.with_parameters(**{parameter: value})
                assert Setting.of(HOLE, extreme, scale=1).simulation().check() is None


def test_the_core_takes_the_alignment_that_leas_classes_make_of_an_odd_one():
    run = simulate(HOLE, "binned-fit:alignment=1048575")
    assert run.peak_heap_bytes * 16 == 3 * 8 * (1 << 20)  # three blocks of 8 MiB, in whole growths


@pytest.mark.parametrize("engine", ["core", "reference"])
def test_a_collector_that_waits_for_nothing_grows_when_it_has_just_collected(engine):
    trace = Trace.from_events([M, M], [0, 1], [1, 1 << 16])
    run = simulate(trace, "bw-gc-2.6:divisor=1T", engine=engine)
    assert run.counters.growths == 2


@pytest.mark.parametrize("engine", ["core", "reference"])
def test_a_growth_of_more_bytes_than_a_number_counts_is_refused(engine):
    with pytest.raises(SimallocError, match=r"event 0 .* would exceed 2\*\*62 bytes"):
        simulate(HOLE, "bw-gc-2.6:page=1T,increment=16M", engine=engine)


@pytest.mark.parametrize("engine", ["core", "core-portable"])
def test_live_bytes_beyond_what_a_double_counts_exactly(engine):
    sizes = [1, 2, *[1 << 47] * 64]
    trace = Trace.from_events([M] * len(sizes), range(len(sizes)), sizes)
    run = simulate(trace, "simple-seg-2n", scale=1, engine=engine)
    assert run.max_live_bytes == (1 << 53) + 3
    expected = simulate(trace, "simple-seg-2n", scale=1, engine="reference")
    assert run.mapped.mean_to_live == pytest.approx(expected.mapped.mean_to_live, rel=1e-12)
    assert run.timeline.live_high.tolist() == expected.timeline.live_high.tolist()


@pytest.mark.parametrize("length", [1, 255, 256, 257, 700])
@pytest.mark.parametrize("portable", [False, True])
def test_any_number_of_events_may_be_replayed_at_a_time(length, portable):
    random = np.random.default_rng(length)
    op = np.tile(np.array([M, M, F], np.uint8), 700)
    number = np.stack([np.arange(700), np.arange(700, 1400), np.arange(700)], 1).ravel()
    size = np.where(op == M, random.integers(0, 500, len(op)), 0)
    trace = Trace.from_events(op, number, size)
    setting = Setting.of(
        trace, "best-fit-ao", scale=16, realloc=Realloc.FREE_FIRST, engine=CODES[portable]
    )
    whole, parts = (setting.simulation() for _ in range(2))
    replay(whole, trace.replayed)
    for start in range(0, len(op), length):
        replay(parts, trace.replayed.part(start, start + length))
    assert_nearly_same(parts.figures(), whole.figures())


def assert_nearly_same(some, others):
    """Compare figures of two simulations; sums of floats may differ in the last digits."""
    for figures, expected in ((some, others), (some["mapped"], others["mapped"])):
        numbers = {
            name: value for name, value in expected.items() if isinstance(value, (int, float))
        }
        assert {name: figures[name] for name in numbers} == pytest.approx(numbers, rel=1e-12)
    assert some["mapped"]["intervals"] == others["mapped"]["intervals"]


@pytest.mark.parametrize(("op", "slot"), [([M, M], [0, 0]), ([F], [0]), ([M, 7], [0, 0])])
def test_the_core_survives_columns_that_are_no_trace(op, slot):
    simulation = Setting.of(HOLE, "first-fit-ao", scale=16, realloc=Realloc.FREE_FIRST).simulation()
    size = np.full(len(op), 8, np.int64)
    done, failure = simulation.replay(
        np.array(op, np.uint8), size, np.array(slot, np.uint32), size, empty_spans(0), {}
    )
    assert failure == "the events do not form a valid trace"
    assert done == len(op) - 1


def test_columns_of_other_shapes_are_refused():
    simulation = Setting.of(HOLE, "best-fit-ao", scale=16, realloc=Realloc.FREE_FIRST).simulation()
    op, size, slot = np.zeros(2, np.uint8), np.ones(2, np.int64), np.zeros(3, np.uint32)
    none = empty_spans(0)
    with pytest.raises(ValueError, match="slot"):
        simulation.replay(op, size, slot, size, none, {})
    with pytest.raises(ValueError, match="size"):
        simulation.replay(op, size.astype(np.int32), slot[:2], size, none, {})
    with pytest.raises(ValueError, match="spans"):
        simulation.replay(op, size, slot[:2], size, np.empty(1), {})
    with pytest.raises(TypeError):
        simulation.replay(op, size)


def test_more_events_than_the_trace_has_are_refused():
    simulation = Setting.of(HOLE, "best-fit-ao", scale=16, realloc=Realloc.FREE_FIRST).simulation()
    replay(simulation, HOLE.replayed)
    with pytest.raises(ValueError, match="more events than the"):
        replay(simulation, HOLE.replayed.part(0, 1))
    assert simulation.figures()["events"] == len(HOLE)


def test_any_number_of_events_may_be_announced():
    setting = Setting.of(HOLE, "best-fit-ao", scale=16, realloc=Realloc.FREE_FIRST)

    def interval_of(events):
        return setting.simulation(events=events).figures()["mapped"]["interval"]

    assert interval_of(2**64 - 1) == 2**53
    assert interval_of(2048) == 1
    assert interval_of(2049) == 2


@pytest.mark.parametrize("name", [name for name in HEAP_POLICIES if name != "best-possible"])
def test_the_heap_can_be_looked_at(name):
    simulation_blocks = _blocks_after(HOLE, name)
    addresses, sizes, slots = simulation_blocks
    assert (addresses[1:] >= (addresses + sizes)[:-1]).all()
    below = addresses < MAX_BREAK  # mapped blocks are in several segments
    if below.any():
        assert addresses[0] == 0
        np.testing.assert_array_equal(addresses[below][1:], (addresses + sizes)[below][:-1])
    assert sorted(slots[slots >= 0]) == [0, 1, 2]


def _blocks_after(trace, name):
    simulation = Setting.of(trace, name, scale=16, realloc=Realloc.FREE_FIRST).simulation()
    replay(simulation, trace.replayed)
    columns = [np.empty(simulation.block_count(), np.int64) for _ in range(3)]
    assert simulation.blocks(0, *columns) == len(columns[0])
    return columns


def test_a_list_of_100_000_free_blocks_hides_none():
    """The list's tree once lost blocks: a new node reused the stale data of its slot."""
    run = simulate(load("varnish"), "first-fit-fifo")
    assert run.peak_heap_bytes == 180_498_944


def test_more_free_blocks_than_can_be_counted_are_refused():
    trace = Trace.from_events([M], [0], [1])
    with pytest.raises(SimallocError, match=r"more than 2\*\*32 free blocks"):
        simulate(trace, "simple-seg-2n:growth=128G")


@pytest.mark.parametrize("engine", ["core", "core-portable", "reference"])
def test_the_peak_is_told_from_heaps_that_are_equal_as_fractions(engine):
    objects = 128
    number = [*range(objects), *range(objects), objects, objects + 1]
    op = [M] * objects + [F] * objects + [M, M]
    trace = Trace.from_events(op, number, [1 << 47] * objects + [0] * objects + [1, 1])
    run = simulate(trace, "simple-seg-2n:growth=16", engine=engine)
    assert run.live_bytes_at_peak_heap == 2
    assert heap_snapshot(trace, run).event == len(trace) - 1


def test_a_mechanism_brings_its_own_realloc():
    for text, rule in (("first-fit-ao", "free-first"), ("first-fit-ao:mechanism=on", "in-place")):
        assert simulate(HOLE, text).realloc is Realloc(rule)
        assert simulate(HOLE, text, realloc="move").realloc is Realloc.MOVE
        assert simulate(HOLE, text, engine="reference").realloc is Realloc(rule)
