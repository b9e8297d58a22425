"""Snapshots made from replays: reading them yields the replayed trace, and the model agrees."""

import pickle

import numpy as np
import pytest

from simalloc.heap.watch.device_replay import replay_device
from simalloc.measure import what_if
from simalloc.measure.device.segments import memory_of
from simalloc.policy import find_policy
from simalloc.trace import Op, Trace
from simalloc.trace.formats.importing import load_log

MIB = 1 << 20
SETTINGS = [
    "",
    "expandable_segments:True",
    "max_split_size_mb:20",
    "expandable_segments:True,roundup_power2_divisions:4",
]


def program(seed, *, events=700, most=1 << 30):
    """Return a program of phases that sometimes empties the cache."""
    random = np.random.default_rng(seed)
    rows, live = [], {}
    for number in range(events):
        sizes = [random.integers(1, MIB), random.integers(MIB, 60 * MIB)]
        if number % 97 == 96:
            rows.append((Op.EMPTY, -1, 0, 0))
        elif live and (random.random() < 0.48 or sum(live.values()) > most):
            key = random.choice(list(live))
            del live[key]
            rows.append((Op.FREE, key, 0, 0))
        else:
            live[number] = int(sizes[int(random.random() < 0.5)])
            rows.append((Op.MALLOC, number, live[number], int(random.integers(2))))
    op, key, size, stream = zip(*rows, strict=True)
    return Trace.from_events(op, key, size, stream=stream)


def snapshot(trace, replay, settings, capacity, *, skipped=0, framed=True):
    """Return the entries of a run without the first ones, and the memory at its end."""
    expandable = "expandable_segments:True" in settings
    entries, addresses, reserved = [], {}, 0
    calls = iter([*replay.calls.tolist(), (len(trace), 0, 0)])
    call = next(calls)
    for event in range(len(replay.addresses)):
        op, key, size = (int(column[event]) for column in (trace.op, trace.object, trace.size))
        stream = int(trace.stream[event])
        while call[0] == event:
            kinds = (
                ("segment_map", "segment_unmap")
                if expandable
                else ("segment_alloc", "segment_free")
            )
            name = "empty_cache" if op == Op.EMPTY else "forward"
            frames = {"frames": [{"name": name, "filename": "m.py", "line": 1}]} if framed else {}
            entries.append(entry(kinds[call[2] < 0], call[1], abs(call[2]), stream, **frames))
            reserved += call[2]
            call = next(calls)
        if op == Op.MALLOC and replay.addresses[event] < 0:
            size = -(-size // 512) * 512
            entries.append(entry("oom", None, size, stream, device_free=capacity - reserved))
        elif op == Op.MALLOC:
            addresses[key] = int(replay.addresses[event]), size, stream
            entries.append(entry("alloc", *addresses[key]))
        elif op == Op.FREE:
            gone = addresses.pop(key)
            entries += [entry("free_requested", *gone), entry("free_completed", *gone)]
    there = [piece for piece in memory_of(replay).tolist() if piece[3] == len(replay.addresses)]
    segments = [
        {"device": 0, "address": start, "total_size": size, "stream": 0, "blocks": []}
        for start, size, _, _ in there
    ]
    blocks = {"device": 0, "address": 0, "total_size": 0, "stream": 0}
    for address, size, stream in addresses.values():
        block = {"address": address, "size": size, "requested_size": size}
        segments.append(
            {**blocks, "stream": stream, "blocks": [{**block, "state": "active_allocated"}]}
        )
    environment = {"PYTORCH_ALLOC_CONF": settings}
    whole = {"device_traces": [entries[skipped:]], "segments": segments}
    return pickle.dumps({**whole, "allocator_settings": environment})


def entry(action, address, size, stream, **more):
    there = {} if address is None else {"addr": address}
    return {"action": action, "size": size, "stream": stream, "time_us": 0, **there, **more}


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("framed", [True, False])
def test_a_run_that_ends_in_an_out_of_memory(log, settings, framed):
    trace, capacity = program(1), 600 * MIB
    described = find_policy("pytorch", settings=settings, capacity=capacity).description
    replay = replay_device(trace, described, engine="reference")
    assert replay.figures.refused == 1
    assert replay.figures.retries > 0
    assert replay.figures.device_free > 0
    read = load_log(log(snapshot(trace, replay, settings, capacity, framed=framed)))
    done = len(replay.addresses)
    recorded = np.isin(np.arange(done), replay.calls[:, 0]) | (trace.op[:done] != Op.EMPTY)
    if not framed:  # the importer's guess for these segments
        assert read.op[read.op != Op.EMPTY].tolist() == [
            op for op in trace.op[:done] if op != Op.EMPTY
        ]
        return
    assert read.op.tolist() == trace.op[:done][recorded].tolist()
    assert read.size.tolist()[:-1] == trace.size[:done][recorded].tolist()[:-1]
    found = what_if(read, [])
    assert found.recorded["device_bytes"] == capacity
    assert found.model.peak_reserved_bytes == found.recorded["peak_reserved_bytes"]
    assert found.model.final_reserved_bytes == found.recorded["final_reserved_bytes"]
    assert found.model.device_alloc == replay.figures.device_alloc
    assert found.model.first_refused_event == len(read)


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_history_that_begins_late(log, settings):
    trace = program(2)
    replay = replay_device(
        trace, find_policy("pytorch", settings=settings, capacity="64G").description
    )
    whole = load_log(log(snapshot(trace, replay, settings, 0)))
    late = load_log(log(snapshot(trace, replay, settings, 0, skipped=400)))
    device, whole_device = late.provenance["device"], whole.provenance["device"]
    assert whole_device["live_at_start"]["objects"] == 0
    assert device["live_at_start"]["objects"] > 0
    at_start = device["live_at_start"]["objects"]
    count = len(late) - at_start
    assert late.op[at_start:].tolist() == whole.op[-count:].tolist()
    assert late.size[at_start:].tolist() == whole.size[-count:].tolist()
    assert int(late.replayed.live[-1]) == int(whole.replayed.live[-1])
    for name in ("peak_reserved_bytes", "final_reserved_bytes"):
        assert device["recorded"][name] == whole_device["recorded"][name]
    before = int(replay.heap[len(trace) - count - 1])
    assert device["recorded"]["first_reserved_bytes"] in {
        before,
        int(replay.heap[len(trace) - count]),
    }
