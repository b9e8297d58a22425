"""`simalloc pool`."""

import csv
import json

import numpy as np
import pytest
from command import simalloc

from simalloc.policy import find_policy
from simalloc.pool.trial import PoolTrial
from simalloc.trace import Trace, read_trace, write_trace


@pytest.fixture
def trace(tmp_path):
    rng = np.random.default_rng(3)
    live, op, number, size, thread = [], [], [], [], []
    for event in range(2000):
        free = bool(live) and (len(live) > 40 or rng.random() < 0.45)
        op.append(1 if free else 0)
        number.append(live.pop(rng.integers(len(live))) if free else event)
        size.append(0 if free else int(rng.integers(8, 700)))
        thread.append(int(rng.integers(3)))
        if not free:
            live.append(event)
    path = tmp_path / "board.npz"
    write_trace(Trace.from_events(op, number, size, thread=thread, name="board"), path)
    return path


def records(*arguments):
    result = simalloc("pool", *arguments, "--format", "json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_json_has_the_pools_of_each_policy(trace):
    found = records(str(trace), "-p", "freertos-heap-4", "esp-idf")
    assert [each["policy"] for each in found] == ["freertos-heap-4", "esp-idf"]
    for each in found:
        assert each["trace"] == "board"
        assert each["lower_bound_bytes"] == each["peak_live_bytes"] < each["least_bytes"]
        assert all(
            each["least_bytes"] < size <= 1.3 * each["least_bytes"]
            for size in each["failing_bytes"]
        )
        assert each["safe_bytes"] >= max([each["least_bytes"], *each["failing_bytes"]])
    assert found[0]["failing_bytes"] == []


def test_the_largest_free_block_is_the_one_that_the_allocator_reports(trace, tmp_path):
    [found] = records(str(trace), "-p", "freertos-heap-4")
    policy = f"freertos-heap-4:capacity={found['safe_bytes']}"
    placed = tmp_path / "placed.csv"
    assert simalloc("place", str(trace), "-p", policy, "-o", str(placed)).exit_code == 0
    with placed.open(newline="") as file:
        name = "freertos-heap-4.xSizeOfLargestFreeBlockInBytes"
        largest = [int(row[name]) for row in csv.DictReader(file)]
    assert found["min_largest_free_bytes"] == min(largest) > 0


def test_the_smallest_pool_works_and_the_next_smaller_fails(trace):
    [found] = records(str(trace), "-p", "esp-idf")
    for size, refused in ((found["least_bytes"], False), (found["least_bytes"] - 4, True)):
        trial = PoolTrial.of(find_policy("esp-idf"), [read_trace(trace)])
        assert bool(trial(size).refused) == refused


def test_several_traces_are_served_by_one_pool(trace, tmp_path):
    whole = read_trace(trace)
    write_trace(whole.prefix(500).renamed("short"), tmp_path / "short.npz")
    one = records(str(trace), "-p", "zephyr")[0]
    both = records(str(trace), str(tmp_path / "short.npz"), "-p", "zephyr")[0]
    assert both["trace"] == "board, short"
    assert both["least_bytes"] >= one["least_bytes"]


def test_variations_are_reproducible_and_the_worst_is_written(trace, tmp_path):
    worst = tmp_path / "worst.npz"
    arguments = [str(trace), "-p", "freertos-heap-4", "--vary", "6"]
    [first] = records(*arguments, "--worst", str(worst))
    [second] = records(*arguments)
    assert first == second
    varied = first["varied"]
    assert varied["least_bytes"] >= first["least_bytes"]
    written = read_trace(worst)
    assert written.name == varied["needed_by"]
    [alone] = records(str(worst), "-p", "freertos-heap-4")
    assert alone["least_bytes"] == varied["least_bytes"]


def test_the_table_and_the_picture(trace, tmp_path):
    picture = tmp_path / "refused.png"
    result = simalloc("pool", str(trace), "-p", "zephyr", "--plot", str(picture), "--adversary")
    assert result.exit_code == 0
    assert "fail above" in result.stdout
    assert "Robson" in result.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-p", "ptmalloc", "--worst", "w.npz"], "--worst requires --vary"),
        (["-p", "zephyr", "--vary", "0"], "--vary"),
        (["-p", "no-such"], "no-such"),
    ],
)
def test_wrong_options(trace, arguments, complaint):
    result = simalloc("pool", str(trace), *arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_a_refused_request_is_explained(trace):
    [first] = records(str(trace), "-p", "esp-idf")
    size = first["least_bytes"] - 4
    [found] = records(str(trace), "-p", "esp-idf", "--diagnose", str(size))
    diagnosis = found["diagnosis"]
    assert diagnosis["first_refused_event"] > 0
    assert diagnosis["free_bytes"] >= diagnosis["largest_free_bytes"] > 0
    assert diagnosis["verdict"].startswith(("Fragmentation", "Size classes", "The pool was full"))
    assert 0 <= diagnosis["largest_request_bytes"] < diagnosis["requested_bytes"]
    assert diagnosis["separators"]
    assert "esp-idf" not in diagnosis["served_by"]
    [fine] = records(str(trace), "-p", "esp-idf", "--diagnose", str(first["safe_bytes"]))
    assert fine["diagnosis"] is None
    table = simalloc("pool", str(trace), "-p", "esp-idf", "--diagnose", str(size))
    assert "between free blocks" in table.stdout
    largest = diagnosis["largest_request_bytes"]
    assert f"The largest request that would have been served is {largest:,} bytes." in table.stdout


def test_free_bytes_of_a_heap_that_grows_are_unscaled_and_include_unmapped_bytes(tmp_path):
    path = tmp_path / "gaps.npz"
    op, number, size = [0, 0, 0, 1, 0], [0, 1, 2, 1, 3], [100, 60, 100, 0, 80]
    write_trace(Trace.from_events(op, number, size, name="gaps"), path)
    [found] = records(str(path), "-p", "first-fit-ao:growth=1", "--diagnose", "290")
    diagnosis = found["diagnosis"]
    assert (diagnosis["first_refused_event"], diagnosis["requested_bytes"]) == (5, 80)
    assert (diagnosis["free_bytes"], diagnosis["largest_free_bytes"]) == (90, 60)
    assert diagnosis["free_blocks"] == 2
    assert diagnosis["verdict"].startswith("Fragmentation: 90 bytes were free in 2 blocks")
    assert diagnosis["block_pools"] == [{"size": 80, "count": 1}]
    table = simalloc("pool", path, "-p", "first-fit-ao:growth=1", "--diagnose", "290")
    help_ = "A block pool of 1 x 80 bytes and a heap of 210 bytes serve every request."
    assert help_ in " ".join(table.stdout.split())


def test_a_pool_that_is_too_small_for_a_request_alone_is_not_called_full(tmp_path):
    path = tmp_path / "large.npz"
    write_trace(Trace.from_events([0, 1], [0, 0], [5000, 0], name="large"), path)
    [found] = records(str(path), "-p", "freertos-heap-4", "--diagnose", "4K")
    assert found["diagnosis"]["verdict"].startswith("The pool is too small: nothing was live")
    assert found["diagnosis"]["block_pools"] == []
    table = simalloc("pool", path, "-p", "freertos-heap-4", "--diagnose", "4K")
    assert "none" in table.stdout


def test_block_pools_are_declared(trace):
    [found] = records(str(trace), "-p", "zephyr", "--block-pools", "4")
    blocks = found["block_pools"]
    assert len(blocks["pools"]) == 4
    assert blocks["pool_bytes"] == sum(each["size"] * each["count"] for each in blocks["pools"])
    assert blocks["heap_least_bytes"] > 0
    table = simalloc("pool", str(trace), "-p", "zephyr", "--block-pools", "4")
    for word in ("LWIP_MALLOC_MEMPOOL", "K_MEM_SLAB_DEFINE", "xQueueCreate", "mempool_init"):
        assert word in table.stdout


def test_a_trace_that_no_pool_can_hold_is_refused(tmp_path):
    path = tmp_path / "huge.npz"
    write_trace(Trace.from_events([0, 0, 0], [0, 1, 2], [1 << 33] * 3, name="huge"), path)
    done = simalloc("pool", path, "-p", "first-fit-ao")
    assert done.exit_code == 2
    assert "huge: 25,769,803,776 bytes are live at the peak; pools are searched" in done.stderr


def test_a_log_of_system_view_is_diagnosed_by_source_lines(tmp_path):
    allocated = ((1, 1000), (2, 100), (3, 1000), (4, 100))
    events = [f"Allocated {size} bytes @ 0x3ffb{key:04x}" for key, size in allocated]
    events += ["Freed bytes @ 0x3ffb0001", "Freed bytes @ 0x3ffb0003"]
    events += ["Allocated 1500 bytes @ 0x3ffb0009"]
    lines = [
        f'[0.{number:09}] HEAP: {event} from task "ui" on core 0 by:\n/main/ui.c:3{number}\n'
        for number, event in enumerate(events)
    ]
    (tmp_path / "heap.txt").write_text("Parse trace...\n" + "\n".join(lines))
    trace = str(tmp_path / "heap.npz")
    assert simalloc("import", str(tmp_path / "heap.txt"), "-o", trace).exit_code == 0
    [found] = records(trace, "-p", "freertos-heap-4", "--diagnose", "2400")
    assert [each["what"] for each in found["diagnosis"]["separators"]] == [
        "/main/ui.c:31",
        "/main/ui.c:33",
    ]
