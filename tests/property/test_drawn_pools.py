"""Properties of every allocator of fixed pools, on drawn programs."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simalloc import Trace
from simalloc.heap import Realloc
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay_all
from simalloc.heap.watch.each_event import REFUSED, Watched
from simalloc.policy import GROUPS, find_policy
from simalloc.trace import Op

SETTINGS = {
    "freertos-heap-1": ["align=4", "align=16,skew=3"],
    "freertos-heap-2": ["align=16", "skew=5"],
    "freertos-heap-4": ["align=4", "align=16,skew=9"],
    "freertos-heap-5": ["regions=0+300+300+N", "regions=3+N+65536+777", "align=16"],
    "esp-idf": ["release=53"],
    "newlib-nano": ["version=3.3", "start=4", "start=65", "version=3.3,start=13"],
    "picolibc": ["version=1.8.10", "align=16", "version=1.8.10,align=16,start=4", "start=3"],
    "newlib": ["page=128", "align=16", "page=128,start=5"],
    "nuttx": [
        *("small=on,word=4", "align=16,skew=9", "align=4,word=4", "delay=3"),
        "regions=20000+500+30000+900",
    ],
    "umm-malloc": ["fit=first", "realloc=mincopy", "port=upstream", "port=upstream,block=16"],
    "micropython": ["tables=plain", "tables=weak", "start=7"],
    "emmalloc": ["start=4", "start=3"],
    "wee-alloc": ["size_classes=off", "start=4"],
    "lwip": ["align=4", "align=8,idx=32,start=5"],
    "rt-thread": ["align=4", "align=16,skew=9"],
    "rt-thread-memheap": ["best=on", "align=4,best=on"],
    "threadx": ["checked=off"],
    "zephyr": [
        *("through=k_malloc", "through=malloc", "chunks=big", "SYS_HEAP_ALLOC_LOOPS=1"),
        "through=k_malloc,SYS_HEAP_RUNTIME_STATS=y",
    ],
}
"""Settings besides `word` that change a placement."""

WORDS = {"esp-idf": [4], "rtx5": [4], "avr-libc": [2, 4]}
"""Word sizes in bytes, if not 4 or 8."""

CAPACITIES = {"tlsf": (7000, 20000), "wee-alloc": (8000, 400000)}
"""Range of the pool's size in bytes, if not 2,000 to 9,000."""

NAMES = [*GROUPS["pool"], "tlsf"]

WITHOUT_LARGEST = {"emmalloc", "wee-alloc"}
"""Allocators that may refuse a request although they can serve a larger one."""

_size = st.one_of(
    st.integers(0, 200), st.sampled_from([0, 1, 255, 256, 1000, 2000, 1 << 31, (1 << 32) - 64])
)


@st.composite
def policies(draw, name):
    """Draw an allocator with some settings in a small pool."""
    given = draw(st.sampled_from(["", *SETTINGS.get(name, [])]))
    word = draw(st.sampled_from(WORDS.get(name, [4, 4, 8])))
    capacity = draw(st.integers(*CAPACITIES.get(name, (2000, 9000)))) // 8 * 8
    tail = ",mechanism=on" if name == "tlsf" else ""
    words = "" if "word=" in given else f",word={word}"
    settings = f"capacity={capacity}{words}{tail}{',' if given else ''}{given}"
    return find_policy(f"{name}:{settings}")


@st.composite
def programs(draw):
    """Draw a program in which some requests are aligned and some are reallocs."""
    events, alignments, live, numbers = [], [], [], 0
    for _ in range(draw(st.integers(1, 60))):
        op = draw(st.sampled_from([Op.MALLOC] * 4 + [Op.FREE] * 3 + [Op.REALLOC] * 2))
        if op == Op.MALLOC or not live:
            live.append(numbers)
            events.append((Op.MALLOC, numbers, draw(_size)))
            alignments.append(draw(st.sampled_from([0, 0, 8, 64, 256])))
            numbers += 1
            continue
        number = draw(st.sampled_from(live))
        if op == Op.FREE:
            live.remove(number)
        events.append((op, number, draw(_size) if op == Op.REALLOC else 0))
        alignments.append(0)
    op, number, size = zip(*events, strict=True)
    return Trace.from_events(op, number, size, alignment=alignments)


def placed(trace, policy):
    """Return the object's location after each event or its refusal, and the final figures."""
    watched = Watched(Setting.of(trace, policy, realloc=Realloc.IN_PLACE), checked=True)
    (sight,) = watched.sights()
    offsets = [
        (int(region), int(number), int(offset))
        for region, number, offset in zip(sight.region, sight.number, sight.offset, strict=True)
    ]
    return offsets, dict(zip(watched.names, sight.figures[-1].tolist(), strict=True))


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_objects_lie_in_the_pool_apart_from_each_other(name, data):
    policy, trace = data.draw(policies(name)), data.draw(programs())
    offsets, _ = placed(trace, policy)
    where = {}
    for event, (_, is_outside, offset) in enumerate(offsets):
        number, size = int(trace.object[event]), int(trace.size[event])
        if trace.op[event] == Op.FREE or (offset < 0 and offset != REFUSED):
            where.pop(number, None)
        elif offset != REFUSED and is_outside:
            where[number] = (-1, -1)
        elif offset != REFUSED:
            where[number] = (offset, offset + size)
        spans = sorted(span for span in where.values() if span[0] >= 0)
        assert all(one[1] <= other[0] for one, other in pairwise(spans))
        assert all(low >= 0 for low, _ in spans)
        if "alignment" in policy.description.read_columns and offset >= 0 and not is_outside:
            asked = int(trace.columns["alignment"][event]) or 1
            start = policy.all_parameters.get("skew", policy.all_parameters.get("start", 0))
            assert (int(start) + offset) % asked == 0


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_a_pool_that_is_said_to_decide_alike_does(name, data):
    policy, trace = data.draw(policies(name)), data.draw(programs())
    grain, capacity = policy.description.grain, policy.description.capacity
    setting = Setting.of(trace, policy, realloc=Realloc.IN_PLACE)
    simulation = setting.simulation()
    replay_all(simulation, setting)
    same = min(simulation.figures()["same_for"], 4 * capacity)
    known = policy.description.core_parameters()
    for more in data.draw(st.lists(st.integers(0, same // grain), max_size=3)):
        larger = policy.with_parameters(capacity=capacity + more * grain)
        follows = {"pool_bytes", *getattr(policy.description, "follows_capacity", ())}
        others = larger.description.core_parameters()
        if {key for key in known if known[key] != others[key]} <= follows:
            assert placed(trace, larger)[0] == placed(trace, policy)[0]


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_no_block_is_smaller_than_its_description_says(name, data):
    policy, trace = data.draw(policies(name)), data.draw(programs())
    setting = Setting.of(trace, policy, realloc=Realloc.IN_PLACE, on_refusal="stop")
    simulation = setting.simulation()
    replay_all(simulation, setting)
    figures = simulation.figures()
    served = trace.prefix(int(figures["events"] - figures["refused"]))
    count = simulation.block_count()
    address, size, slot = (np.zeros(count, np.int64) for _ in range(3))
    simulation.blocks(0, address, size, slot)
    live = dict(zip(served.replayed.slot.tolist(), served.size.tolist(), strict=True))
    held = dict(sorted(zip(slot.tolist(), size.tolist(), strict=True)))  # slot 0 is LVGL's own
    for at in held.keys() & live.keys():
        assert live[at] == 0 or held[at] >= policy.description.block_bytes(live[at])


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT_LARGEST])
@given(data=st.data())
def test_the_largest_request_is_served_and_no_larger_one(name, data):
    policy, trace = data.draw(policies(name)), data.draw(programs())
    if policy.all_parameters.get("through", "sys_heap") != "sys_heap":
        return  # the message names the heap below the layer
    largest = placed(trace, policy)[1]["largest"]
    columns = trace.op.tolist(), trace.object.tolist(), trace.size.tolist()
    asked = [*trace.columns["alignment"].tolist(), 0]
    for size, is_refused in ((largest, False), (largest + 1, True)):
        last = (Op.MALLOC, max(columns[1]) + 1, size)
        events = ([*column, one] for column, one in zip(columns, last, strict=True))
        offsets, _ = placed(Trace.from_events(*events, alignment=asked), policy)
        assert size == 0 or (offsets[-1][2] == REFUSED) == is_refused
