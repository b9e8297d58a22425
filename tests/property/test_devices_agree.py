"""Both engines return identical results for every device allocator."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simalloc.heap import Realloc
from simalloc.heap.watch.device_replay import figures_in_core, replay_device
from simalloc.policy import find_policy
from simalloc.trace import Op, Trace

MIB = 1 << 20

SIZES = st.one_of(
    st.integers(1, 4096),
    st.integers(1, 64).map(lambda number: number * 512),
    st.sampled_from([MIB - 1, MIB, MIB + 1, 10 * MIB - 1, 10 * MIB, 20 * MIB, 21 * MIB]),
    st.integers(MIB // 2, 30 * MIB),
    st.integers(1, 40).map(lambda number: number * MIB),
)

PYTORCH = [
    "",
    "max_split_size_mb:20",
    "max_split_size_mb:24,max_non_split_rounding_mb:21",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:[1:8,4:4,16:2,>:1]",
    "garbage_collection_threshold:0.6,per_process_memory_fraction:0.9",
    "max_split_size_mb:20,garbage_collection_threshold:0.3,per_process_memory_fraction:0.95",
    "expandable_segments:True",
    "expandable_segments:True,max_split_size_mb:20,per_process_memory_fraction:0.9",
    "expandable_segments:True,garbage_collection_threshold:0.5,per_process_memory_fraction:0.8",
    "expandable_segments:True,expandable_segments_reserve:0.5",
    "large_segment_size_mb:12",
]
POLICIES = [
    *(("pytorch", {"settings": text}) for text in PYTORCH),
    ("bfc", {}),
    ("bfc", {"collection": "off"}),
    ("bfc", {"growth": "off", "fraction": 0.75}),
    ("bfc", {"split_fraction": 0.1}),
    ("ort-arena", {}),
    ("ort-arena", {"extend": "same-as-requested", "max_dead": "2M"}),
    ("rmm-pool", {}),
    ("rmm-pool", {"initial": "8M", "maximum": "150M"}),
    ("no-cache", {}),
]


@st.composite
def device_traces(draw):
    """Draw a trace with frees, resizes, shared blocks, emptied caches, some streams and pools."""
    count = draw(st.integers(1, 70))
    streams = draw(st.integers(1, 3))
    rows, live = [], []
    for number in range(count):
        kinds = [Op.MALLOC] * 4 + [Op.FREE] * 4 + [Op.REALLOC, Op.USE, Op.EMPTY]
        op = draw(st.sampled_from(kinds)) if live else Op.MALLOC
        size = draw(SIZES) if op in {Op.MALLOC, Op.REALLOC} else 0
        key = -1
        if op is Op.MALLOC:
            key = number
            live.append(key)
        elif op is not Op.EMPTY:
            place = draw(st.integers(0, len(live) - 1))
            key = live.pop(place) if op is Op.FREE else live[place]
        stream = draw(st.integers(0, streams - 1))
        rows.append((op, key, size, stream, draw(st.sampled_from([0, 0, 0, 7]))))
    op, key, size, stream, pool = zip(*rows, strict=True)
    return Trace.from_events(op, key, size, stream=stream, pool=pool)


@pytest.mark.parametrize(("name", "parameters"), POLICIES)
@given(
    trace=device_traces(),
    capacity=st.sampled_from([24, 61, 100, 201, 400]),
    rule=st.sampled_from(Realloc),
    goes_on=st.booleans(),
)
def test_the_engines_agree(name, parameters, trace, capacity, rule, goes_on):
    described = find_policy(name, capacity=f"{capacity}M", **parameters).description
    plain = replay_device(trace, described, rule, engine="reference", checked=True, goes_on=goes_on)
    core = replay_device(trace, described, rule, checked=True, goes_on=goes_on)
    for column in ("addresses", "live", "heap", "allocated", "free_blocks", "calls"):
        assert np.array_equal(getattr(plain, column), getattr(core, column)), column
    assert plain.figures == core.figures == figures_in_core(trace, described, rule, goes_on=goes_on)
    assert plain.run.counters == core.run.counters
    assert plain.run.mapped.mean_bytes == core.run.mapped.mean_bytes
    assert plain.run.mapped.peak_event == core.run.mapped.peak_event
    assert plain.run.max_live_bytes == core.run.max_live_bytes
