"""Device allocators: the worked example by hand, and the results of PyTorch's own allocator."""

from functools import partial

import numpy as np
import pytest

from simalloc.heap import simulate
from simalloc.heap.watch.device_replay import replay_device
from simalloc.policy import find_policy
from simalloc.trace import Op, Trace

replay_in_reference = partial(replay_device, engine="reference")
REFUSED = -2
MIB = 1 << 20

EXAMPLE = [
    (Op.MALLOC, 1, 3_000_000),
    (Op.MALLOC, 2, 600),
    (Op.MALLOC, 3, 25_000_000),
    (Op.FREE, 1, 0),
    (Op.MALLOC, 4, 12_000_000),
    (Op.FREE, 3, 0),
    (Op.MALLOC, 5, 24_000_000),
    (Op.MALLOC, 6, 1_100_000),
    (Op.FREE, 5, 0),
    (Op.MALLOC, 7, 30_000_000),
    (Op.FREE, 2, 0),
    (Op.FREE, 7, 0),
    (Op.EMPTY, 0, 0),
    (Op.MALLOC, 8, 5_000_000),
]
CAPACITY = "capacity=80G"


def example():
    return Trace.from_events(*zip(*EXAMPLE, strict=True), name="example")


@pytest.mark.parametrize("engine", ["reference", "core"])
@pytest.mark.parametrize(
    ("text", "peak", "final", "allocated", "taken", "freed"),
    [
        (f"pytorch:{CAPACITY}", 79_691_776, 46_137_344, 43_167_232, 4, 2),
        (f"pytorch-expandable:{CAPACITY}", 85_983_232, 41_943_040, 43_101_696, 5, 3),
        (f"pytorch:{CAPACITY},max_split_size_mb=21", 79_691_776, 20_971_520, 44_558_848, 4, 3),
        (
            f"pytorch:{CAPACITY},settings='roundup_power2_divisions:4'",
            *(81_788_928, 20_971_520, 47_449_088, 4, 3),
        ),
        (f"bfc:{CAPACITY}", 75_497_472, 75_497_472, 46_655_232, 4, 0),
        ("ort-arena", 75_497_472, 41_943_040, 46_655_232, 4, 1),
        ("ort-arena:extend=same-as-requested", 70_001_152, 20_000_256, 43_100_928, 6, 3),
        ("rmm-pool", 124_001_280, 124_001_280, 43_100_928, 5, 0),
        ("no-cache", 48_234_496, 20_971_520, 48_234_496, 8, 5),
    ],
)
def test_the_worked_example(engine, text, peak, final, allocated, taken, freed):
    figures = simulate(example(), text, engine=engine, checked=True).device
    assert figures.peak_reserved_bytes == peak
    assert figures.final_reserved_bytes == final
    assert figures.peak_allocated_bytes == allocated
    assert (figures.device_alloc, figures.device_free) == (taken, freed)
    assert figures.peak_requested_bytes == 43_100_600
    assert (figures.first_refused_event, figures.retries, figures.refused) == (0, 0, 0)


@pytest.mark.parametrize("engine", ["reference", "core"])
def test_the_statistics_of_each_pool(engine):
    text = f"pytorch:{CAPACITY},max_split_size_mb=21"
    stats = simulate(example(), text, engine=engine).device.memory_stats
    assert stats["reserved_bytes.small_pool.peak"] == 2 * MIB
    assert stats["reserved_bytes.small_pool.current"] == 0
    assert stats["requested_bytes.small_pool.peak"] == 600
    assert stats["allocated_bytes.large_pool.current"] == 12_000_256 + 1_100_288 + 5_000_192
    assert stats["segment.all.peak"] == 4
    assert stats["segment.all.current"] == stats["segment.large_pool.current"] == 1
    assert stats["oversize_segments.peak"] == 2  # segments of 24 and 30 MiB
    assert stats["oversize_allocations.peak"] == 1  # m 3, m 5 and m 7, one after the other
    assert stats["oversize_allocations.current"] == stats["oversize_segments.current"] == 0
    for name in ("requested", "allocated", "active", "reserved", "inactive_split"):
        parts = [stats[f"{name}_bytes.{pool}_pool.current"] for pool in ("large", "small")]
        assert stats[f"{name}_bytes.all.current"] == sum(parts)


@pytest.mark.parametrize("engine", ["reference", "core"])
def test_what_bfc_reports_of_itself(engine):
    trace = Trace.from_events([Op.MALLOC] * 3 + [Op.FREE], [0, 1, 2, 0], [1000, 5000, 100_000, 0])
    stats = simulate(trace, "bfc", engine=engine).device.memory_stats
    in_use = 5120 + 100_096
    rest = 2 * MIB - 1024 - in_use
    assert stats["bytes_in_use"] == in_use
    assert stats["peak_bytes_in_use"] == in_use + 1024
    assert stats["largest_alloc_size"] == 100_096
    assert stats["pool_bytes"] == stats["peak_pool_bytes"] == 2 * MIB
    assert stats["fragmentation"] == 1024 / (rest + 1024)


@pytest.mark.parametrize("engine", ["reference", "core"])
def test_bfc_ends_where_a_small_region_is_refused(engine):
    """The limit leaves a megabyte, but the device grants memory in steps of two megabytes."""
    trace = Trace.from_events([Op.MALLOC] * 5000, range(5000), [1000] * 5000)
    figures = simulate(trace, "bfc:capacity=5M", engine=engine).device
    assert figures.peak_reserved_bytes < 4 * MIB
    assert figures.first_refused_event == figures.peak_reserved_bytes // 1024 + 1


def test_where_the_blocks_of_the_example_lie():
    replay = replay_in_reference(example(), find_policy("pytorch").description, checked=True)
    one, two, three, four = 0, 20 * MIB, 22 * MIB, 46 * MIB
    placed = [one, two, three, -1, one, -1, three, three + 24_000_000, -1, four, -1, -1, -1]
    assert replay.addresses.tolist() == [*placed, one + 12_000_256]
    reserved = [20, 22, 46, 46, 46, 46, 46, 46, 46, 76, 76, 76, 44, 44]
    assert replay.heap.tolist() == [each * MIB for each in reserved]
    assert replay.allocated.tolist()[-3:] == [13_166_080, 13_166_080, 18_166_272]


def test_where_expandable_blocks_of_the_example_lie():
    text = f"pytorch-expandable:{CAPACITY}"
    replay = replay_in_reference(example(), find_policy(text).description, checked=True)
    small = replay.addresses[1]
    assert replay.addresses.tolist() == [
        *(0, small, 3_000_320, -1, 28_000_768, -1, 0, 24_000_000, -1, 40_001_024, -1, -1, -1, 0)
    ]


@pytest.mark.parametrize("replayed", [replay_in_reference, replay_device])
@pytest.mark.parametrize("capacity", [0, 601 * MIB])
def test_pages_are_counted_from_the_range(replayed, capacity):
    """The large range comes after the small one, at an address not divisible by its page size."""
    trace = Trace.from_events(
        [Op.MALLOC, Op.MALLOC, Op.MALLOC, Op.FREE, Op.EMPTY],
        [0, 1, 2, 1, -1],
        [600, 30 * MIB, MIB + 5, 0, 0],
    )
    described = find_policy("pytorch-expandable", capacity=capacity).description
    replay = replayed(trace, described)
    large = int(replay.addresses[1])
    assert large % (20 * MIB)
    assert replay.addresses.tolist() == [0, large, large + 30 * MIB, -1, -1]
    calls = [(0, 0, 2 * MIB), (1, large, 40 * MIB), (4, large, -20 * MIB)]
    assert replay.calls.tolist() == [list(call) for call in calls]


@pytest.mark.parametrize(
    ("size", "settings", "rounded"),
    [
        (1, "", 512),
        (513, "", 1024),
        (1200, "roundup_power2_divisions:4", 1536),
        (3_000_000, "roundup_power2_divisions:4", 3_145_728),
        (1 << 21, "roundup_power2_divisions:4", 1 << 21),
        (70 * MIB, "roundup_power2_divisions:[64:8,256:4,>:1]", 72 * MIB),
        (3 * MIB - 5, "roundup_power2_divisions:[64:8,256:4,>:1]", 3 * MIB),
        (130 * MIB + 1, "roundup_power2_divisions:[64:8,256:4,>:1]", 130 * MIB + 512),
        (300 * MIB, "roundup_power2_divisions:[64:8,256:4,>:1]", 320 * MIB),
        (600 * MIB + 1, "roundup_power2_divisions:[64:8,256:4,>:1]", 600 * MIB + 512),
    ],
)
def test_rounding(size, settings, rounded):
    trace = Trace.from_events([Op.MALLOC], [0], [size])
    run = simulate(trace, find_policy("pytorch", settings=settings), engine="reference")
    assert run.device.peak_allocated_bytes == rounded


def test_a_request_that_cannot_be_served_ends_the_run():
    run = simulate(example(), "pytorch:capacity=60M", engine="reference")
    assert run.events == run.first_refused_event == 10
    assert (run.device.retries, run.refused) == (1, 1)


@pytest.mark.parametrize("replayed", [replay_in_reference, replay_device])
def test_a_program_goes_on_without_what_it_did_not_get(replayed):
    described = find_policy("pytorch", capacity=60 * MIB).description
    replay = replayed(example(), described, goes_on=True)
    placed = replay.addresses.tolist()
    assert placed[8:] == [-1, REFUSED, -1, -1, -1, 12_000_256]  # m 7 is refused, its free skipped
    figures = replay.figures
    assert (figures.first_refused_event, figures.refused, figures.retries) == (10, 1, 1)
    assert replay.heap.tolist()[9:] == [46 * MIB] * 3 + [44 * MIB] * 2
    assert replay.live.tolist()[-1] == 12_000_000 + 1_100_000 + 5_000_000


@pytest.mark.parametrize("replayed", [replay_in_reference, replay_device])
def test_a_new_range_that_is_too_short_is_lost(replayed):
    """A range of 72 MiB is rounded up to 80, and a failed request reserves two ranges."""
    trace = Trace.from_events(
        [Op.MALLOC] * 3, [0, 1, 2], [20_000_000, 90_000_000, 2_000_000], stream=[0, 0, 1]
    )
    described = find_policy("pytorch-expandable", capacity=64 * MIB).description
    replay = replayed(trace, described, goes_on=True)
    assert replay.addresses.tolist() == [0, REFUSED, 240 * MIB]
    assert replay.calls.tolist() == [[0, 0, 20 * MIB], [2, 240 * MIB, 20 * MIB]]


@pytest.mark.parametrize("replayed", [replay_in_reference, replay_device])
def test_ranges_go_by_the_whole_device(replayed):
    trace = Trace.from_events([Op.MALLOC] * 2, [0, 1], [2_000_000] * 2, stream=[0, 1])
    for more, second in (("", 80), (",total=128M", 160), (",expandable_segments_reserve=0.5", 40)):
        described = find_policy(f"pytorch-expandable:capacity=64M{more}").description
        assert replayed(trace, described).addresses.tolist() == [0, second * MIB]


@pytest.mark.parametrize("replayed", [replay_in_reference, replay_device])
@pytest.mark.parametrize(
    ("text", "oom"),
    [
        ("pytorch:capacity=60M,total=80M,fraction=0.5", 2),  # 30 + 12 MiB of 40 MiB
        ("pytorch:capacity=60M,total=84M,fraction=0.5", 3),
        ("pytorch-expandable:capacity=60M,expandable_segments_reserve=0.03G", 3),  # 40 MiB
        ("pytorch-expandable:capacity=60M,expandable_segments_reserve=40G", 3),
    ],
)
def test_limits_below_the_capacity(replayed, text, oom):
    trace = Trace.from_events([Op.MALLOC] * 3, [0, 1, 2], [30 * MIB, 12 * MIB, 42 * MIB])
    assert replayed(trace, find_policy(text).description).figures.first_refused_event == oom


@pytest.mark.parametrize("replayed", [replay_in_reference, replay_device])
def test_rmm_makes_room_below_a_maximum(replayed):
    """The first region has half of the maximum. It is returned for 8 MiB, none for 11 MiB."""
    trace = Trace.from_events(
        [Op.MALLOC, Op.MALLOC, Op.FREE, Op.FREE, Op.MALLOC, Op.FREE, Op.MALLOC],
        [0, 1, 0, 1, 2, 2, 3],
        [MIB, 4 * MIB, 0, 0, 8 * MIB, 0, 11 * MIB],
    )
    replay = replayed(trace, find_policy("rmm-pool", maximum=10 * MIB).description)
    assert replay.addresses.tolist() == [0, MIB, -1, -1, 6 * MIB, -1, REFUSED]
    sizes = [6 * MIB, -6 * MIB, 8 * MIB]  # sizes as the device grants them
    assert replay.calls[:, 2].tolist() == sizes
    assert replay.calls[:, 0].tolist() == [0, 4, 4]
    assert replay.figures.first_refused_event == 7


def test_a_block_that_another_stream_uses_stays_until_the_next_request():
    trace = Trace.from_events(
        [Op.MALLOC, Op.USE, Op.FREE, Op.MALLOC, Op.MALLOC],
        [0, 0, 0, 1, 2],
        [600, 0, 0, 600, 600],
        stream=[0, 1, 0, 0, 1],
    )
    replay = replay_in_reference(trace, find_policy("pytorch").description, checked=True)
    assert replay.addresses.tolist() == [0, 0, -1, 0, 2 * MIB]
    assert replay.figures.peak_active_bytes == 2048
    assert replay.free_blocks.tolist() == [1, 1, 1, 1, 2]


@pytest.mark.parametrize("name", ["pytorch", "pytorch-expandable", "bfc", "ort-arena", "rmm-pool"])
def test_no_allocator_takes_more_than_there_is(name):
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 30 * MIB, 400)
    op = np.repeat([Op.MALLOC, Op.FREE], 400)
    order = np.argsort(np.concatenate((np.arange(400), np.arange(400) + rng.integers(1, 40, 400))))
    objects = np.tile(np.arange(400), 2)[order]
    trace = Trace.from_events(op[order], objects, np.tile(sizes, 2)[order])
    run = simulate(trace, f"{name}:capacity=300M", engine="reference", checked=True)
    assert run.peak_heap_bytes <= 300 * MIB
    assert run.first_refused_event > 0
