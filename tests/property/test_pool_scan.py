"""The working sizes of a pool, compared with a separate run at every size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simalloc import Trace
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay_all
from simalloc.policy import find_policy
from simalloc.pool.search import find_sizes
from simalloc.pool.trial import PoolTrial
from simalloc.trace import Op

SETTINGS = {
    "freertos-heap-2": ["", ":align=16", ":skew=5"],
    "esp-idf": ["", ":release=53"],
    "tlsf": [":mechanism=on,word=4,capacity=64K"],
    "newlib-nano": ["", ":start=3"],
    "picolibc": ["", ":version=1.8.10", ":align=16,start=3"],
    "umm-malloc": [
        "",
        ":fit=first",
        ":realloc=mincopy",
        ":port=upstream",
        ":port=upstream,block=16",
    ],
    "lwip": ["", ":align=4"],
    "rt-thread": ["", ":align=4", ":align=16,skew=9"],
    "rt-thread-memheap": ["", ":best=on", ":align=4", ":align=4,best=on", ":version=nano4.1.1"],
    "o1heap": [""],
    "lvgl": [""],
    "newlib": ["", ":page=128"],
    "emmalloc": ["", ":start=3"],
    "threadx": ["", ":checked=off"],
    "nuttx": ["", ":small=on", ":align=16,skew=9", ":delay=3"],
    "zephyr": ["", ":through=k_malloc", ":through=malloc", ":chunks=big"],
}
"""Allocators under which a larger pool may fail, and settings that change a placement."""


@st.composite
def programs(draw):
    """Draw a program of few and small objects; some requests are aligned, and some are reallocs."""
    events, alignments, live = [], [], []
    for event in range(draw(st.integers(1, 30))):
        op = draw(st.sampled_from([Op.MALLOC] * 4 + [Op.FREE] * 3 + [Op.REALLOC] * 2))
        size = draw(st.sampled_from([1, 8, 12, 16, 24, 31, 40, 56]))
        if op == Op.MALLOC or not live:
            live.append(event)
            events.append((Op.MALLOC, event, size))
            alignments.append(draw(st.sampled_from([0, 0, 0, 0, 16, 32])))
            continue
        number = draw(st.sampled_from(live))
        if op == Op.FREE:
            live.remove(number)
        events.append((op, number, size if op == Op.REALLOC else 0))
        alignments.append(0)
    op, number, size = zip(*events, strict=True)
    return Trace.from_events(op, number, size, alignment=alignments)


def serves(trace, policy, capacity):
    setting = Setting.of(trace, policy.with_parameters(capacity=capacity), on_refusal="stop")
    simulation = setting.simulation()
    replay_all(simulation, setting)
    return simulation.figures()["first_refused"] == 0


@pytest.mark.parametrize("name", SETTINGS)
@given(data=st.data())
def test_the_sizes_are_those_of_a_run_at_every_size(name, data):
    policy = find_policy(f"{name}{data.draw(st.sampled_from(SETTINGS[name]))}")
    trace = data.draw(programs())
    trial = PoolTrial.of(policy, [trace])
    found = find_sizes(trial, trial.first_size, 1 << 16)
    assert found is not None
    low = -(-trial.low // trial.grain) * trial.grain
    sizes = range(low, 2 * found.smallest + 1, trial.grain)
    works = {size for size in sizes if serves(trace, policy, size)}
    assert found.smallest == min(works)
    assert list(found.failing) == [
        size for size in sizes if size > found.smallest and size not in works
    ]
