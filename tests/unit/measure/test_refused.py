"""Measurements of runs with refused requests include only the objects that were allocated."""

import numpy as np
import pytest

from simalloc.heap import heap_snapshot, simulate
from simalloc.measure import waste
from simalloc.measure.stays import stays_of
from simalloc.trace import Op, Trace, open_trace, write_trace
from simalloc.trace.catalogue import load

REFUSED = -2


def plain_stays(trace, address):
    """Return (object, address, size, since, until) of each placement, from the events."""
    here, ended = {}, []
    for event, (op, number, size) in enumerate(
        zip(trace.op.tolist(), trace.object.tolist(), trace.size.tolist(), strict=True)
    ):
        if op in (Op.MALLOC, Op.CALLOC, Op.REALLOC) and address[event] < 0:
            continue
        if op in (Op.FREE, Op.REALLOC) and number in here:
            ended.append((*here.pop(number), event))
        if op in (Op.MALLOC, Op.CALLOC, Op.REALLOC):
            here[number] = (number, int(address[event]), size, event)
    return sorted(ended + [(*one, len(trace)) for one in here.values()])


@pytest.mark.parametrize("policy", ["first-fit-ao", "first-fit-ao:mechanism=on"])
def test_stays_of_refused_requests_do_not_exist(policy, tmp_path, monkeypatch):
    trace = load("make").prefix(9000)
    capped = f"{policy}{',' if ':' in policy else ':'}capacity=24K"
    run = simulate(trace, capped, addresses=True)
    assert run.refused > 100
    assert (trace.op == Op.REALLOC)[run.addresses == REFUSED].any()
    monkeypatch.setattr("simalloc.trace.reader.REPLAYED_EVENTS", 256)
    write_trace(trace, tmp_path / "trace.npz")
    found = stays_of(open_trace(tmp_path / "trace.npz"), run)
    columns = (found.object, found.placed, found.requested, found.since, found.until)
    assert sorted(zip(*(column.tolist() for column in columns), strict=True)) == plain_stays(
        trace, run.addresses
    )


def test_a_refused_realloc_leaves_the_object_its_size():
    """The first of two objects of 100 bytes requests 10,000 bytes and keeps its 100."""
    ops = [Op.MALLOC, Op.MALLOC, Op.REALLOC]
    trace = Trace.from_events(ops, [0, 1, 0], [100, 100, 10_000])
    run = simulate(trace, "first-fit-ao:capacity=4096", scale=1)
    assert run.refused == 1
    found = waste(trace, run, 2)
    assert (found.live, found.headers, found.heap) == (200, 0, 4096)
    heap = heap_snapshot(trace, run, 2)
    np.testing.assert_array_equal(heap.requested[heap.object >= 0], [100, 100])
