"""A snapshot of PyTorch: blocks from before its history, other devices, and the allocator."""

import pickle
import tracemalloc

import pytest

from simalloc.errors import TraceError
from simalloc.trace import Op
from simalloc.trace.formats import pytorch_history
from simalloc.trace.formats.importing import load_log

M, F, E = Op.MALLOC, Op.FREE, Op.EMPTY
MIB = 1 << 20


def entry(action, addr=0, size=0, **more):
    return {"action": action, "addr": addr, "size": size, "stream": 0, **more}


def segment(address, total, *blocks, **more):
    return {
        "device": 0,
        "address": address,
        "total_size": total,
        "stream": 0,
        "segment_pool_id": (0, 0),
        "blocks": [
            {"address": at, "size": size, "requested_size": asked, "state": state}
            for at, size, asked, state in blocks
        ],
        **more,
    }


def snapshot(*entries, segments=(), settings=None):
    whole = {"device_traces": [list(entries)], "segments": list(segments)}
    return pickle.dumps({**whole, "allocator_settings": settings} if settings else whole)


def events(trace):
    return list(zip(trace.op.tolist(), trace.object.tolist(), trace.size.tolist(), strict=True))


def test_what_was_live_before_comes_first_by_address(log):
    content = snapshot(
        entry("alloc", 0x500, 7),
        entry("free_requested", 0x900, 30),
        entry("free_completed", 0x900, 30),
        entry("alloc", 0x900, 5),
        segments=[
            segment(
                0x100,
                0x1000,
                (0x100, 0x400, 600, "active_allocated"),
                (0x500, 0x400, 7, "active_allocated"),
                (0x900, 0x200, 5, "active_allocated"),
                (0xB00, 0x600, 0, "inactive"),
            )
        ],
    )
    trace = load_log(log(content))
    assert events(trace) == [(M, 0, 600), (M, 1, 30), (M, 2, 7), (F, 1, 0), (M, 3, 5)]
    device = trace.provenance["device"]
    assert device["live_at_start"] == {"objects": 2, "bytes": 630}
    assert device["recorded"]["peak_reserved_bytes"] == 0x1000


def test_a_history_without_completed_frees(log):
    trace = load_log(log(snapshot(entry("alloc", 1, 5), entry("free_requested", 1, 5))))
    assert events(trace) == [(M, 0, 5), (F, 0, 0)]


def test_a_device_is_chosen(log):
    content = pickle.dumps({"device_traces": [[entry("alloc", 1, 5)], [entry("alloc", 1, 9)]]})
    assert load_log(log(content), device=1).size.tolist() == [9]
    assert load_log(log(content), lenient=True).size.tolist() == [5]
    with pytest.raises(TraceError, match="has no events of device 2; choose from 0, 1"):
        load_log(log(content), device=2)
    with pytest.raises(TraceError, match="one of them with --device"):
        load_log(log(content))


def test_pools_are_numbered(log):
    trace = load_log(
        log(
            snapshot(
                entry("alloc", 1, 5, pool_id=(0, 0)),
                entry("alloc", 2, 5, pool_id=(0, 3)),
                entry("alloc", 3, 5, segment_pool_id=(0, 7)),
                entry("alloc", 4, 5, pool_id=(0, 3)),
            )
        )
    )
    assert trace.pool.tolist() == [0, 1, 2, 1]


def released(*after, frames=None, peak=100 * MIB):
    """Return a history that frees segments once, and again with 40 MiB reserved."""
    more = {"frames": [{"name": frames, "filename": "x.py", "line": 1}]} if frames else {}
    return snapshot(
        entry("segment_alloc", 0, peak),
        entry("segment_free", 0, peak),
        entry("segment_alloc", 0, 20 * MIB),
        entry("segment_alloc", 1, 20 * MIB),
        entry("alloc", 1, 5),
        entry("segment_free", 2, 10 * MIB, **more),
        entry("segment_free", 3, 10 * MIB, **more),
        *after,
    )


@pytest.mark.parametrize(
    ("content", "empties"),
    [
        (released(), 1),
        (released(entry("segment_alloc", 9, 20 * MIB)), 1),
        (released(entry("segment_alloc", 9, 70 * MIB)), 0),
        (released(entry("segment_alloc", 9, 70 * MIB), entry("alloc", 9, 70 * MIB)), 0),
        (released(entry("segment_alloc", 9, 70 * MIB), entry("alloc", 9, 9 * MIB)), 1),
        (released(entry("segment_alloc", 9, 70 * MIB), entry("alloc", 9, 5)), 0),
        (released(entry("oom", 0, 5)), 0),
        (released(entry("segment_alloc", 9, 70 * MIB), frames="empty_cache"), 1),
        (released(frames="forward"), 0),
    ],
)
def test_the_program_empties_the_cache(log, content, empties):
    trace = load_log(log(content))
    assert trace.op.tolist().count(E) == empties


def test_pages_that_are_mapped_again_were_not_given_back_to_make_room(log):
    entries = (
        entry("segment_map", 0, 100 * MIB),
        entry("segment_unmap", 40 * MIB, 60 * MIB),
        entry("segment_map", 40 * MIB, 60 * MIB),
        entry("alloc", 0, 70 * MIB),
    )
    assert load_log(log(snapshot(*entries))).op.tolist() == [E, M]


def test_many_pages_mapped_again_take_little_memory(log):
    pages = 5000
    entries = (
        entry("segment_map", 0, pages * MIB),
        *(entry("segment_unmap", page * MIB, MIB) for page in range(pages)),
        *(entry("segment_map", page * MIB, MIB) for page in range(pages)),
        entry("alloc", 0, 5),
    )
    content = log(snapshot(*entries))
    tracemalloc.start()
    assert load_log(content).op.tolist() == [E, M]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * MIB  # one number for each pair of pages would take 200 MB


def test_what_went_back_is_looked_at_once(log, monkeypatch):
    looked, emptied = [], pytorch_history.emptied
    monkeypatch.setattr(
        pytorch_history, "emptied", lambda history: looked.append(history) or emptied(history)
    )
    recorded = load_log(log(released())).provenance["device"]["recorded"]
    assert (recorded["empty_cache"], recorded["made_room"], len(looked)) == (1, 1, 1)


def test_a_request_that_failed_is_freed_if_the_program_went_on(log):
    def out():
        return {"action": "oom", "size": 600, "stream": 0, "device_free": 5, "time_us": 0}

    entries = out(), out(), entry("alloc", 1, 7), out(), entry("free", 1, 7)
    trace = load_log(log(snapshot(*entries)))
    assert events(trace) == [
        *((M, 0, 600), (F, 0, 0), (M, 1, 600), (F, 1, 0)),
        *((M, 2, 7), (M, 3, 600), (F, 2, 0)),
    ]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}, "max_split_size_mb:64"),
        ({"PYTORCH_ALLOC_CONF": "expandable_segments:True"}, "expandable_segments:True"),
        (
            {
                "PYTORCH_CUDA_ALLOC_CONF": "",
                "max_split_size": 64 * MIB,
                "garbage_collection_threshold": 0.5,
                "expandable_segments": True,
                "roundup_power2_divisions": {"1": 4, "2": 0},
            },
            (
                "max_split_size_mb:64,garbage_collection_threshold:0.5,expandable_segments:True,"
                "roundup_power2_divisions:[1:4,2:0]"
            ),
        ),
        ({"max_split_size": -1, "expandable_segments": False}, ""),
        ("nonsense", ""),
    ],
)
def test_settings_become_their_text(log, settings, text):
    trace = load_log(log(snapshot(entry("alloc", 1, 5), settings=settings)))
    assert trace.provenance["device"]["settings"] == text
