"""A trace's clock for policies begins at 0 and never runs backwards."""

import numpy as np
import pytest

from simalloc.heap import simulate
from simalloc.policy import CATALOGUE
from simalloc.trace import Trace

TIMED = sorted(
    name
    for name, row in CATALOGUE.items()
    if "time" in row.description.read_columns and row.description.runner == "online"
)
SECOND = 10**9


def trace_of(times):
    count = len(times)
    op = [0, 1] * (count // 2)
    number = [event // 2 for event in range(count)]
    size = [1 << 20 if event % 4 else 271 for event in range(count)]
    return Trace.from_events(op, number, size, time=np.array(times, np.int64))


@pytest.mark.parametrize("engine", ["core", "reference"])
@pytest.mark.parametrize("name", TIMED)
def test_a_time_before_the_latest_counts_as_the_latest(name, engine):
    times = [-SECOND, -1, 5, SECOND, -(10 * SECOND), 3, 2 * SECOND, SECOND] * 4
    clock = np.maximum(np.maximum.accumulate(times), 0)
    backward, forward = (
        simulate(trace_of(each), name, engine=engine, resident=True, scale=16)
        for each in (times, clock)
    )
    for field in ("mapped", "resident", "counters"):
        assert getattr(backward, field) == getattr(forward, field)


def test_both_engines_agree_where_time_is_below_0():
    trace = Trace.from_events(
        [0, 1, 0, 1], [0, 0, 1, 1], [271, 0, 1 << 30, 0], time=[0, 0, 0, -(10**10)]
    )
    means = {
        simulate(trace, "jemalloc", engine=engine, scale=16).counters.free_blocks_mean
        for engine in ("core", "reference")
    }
    assert len(means) == 1
