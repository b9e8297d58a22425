"""Variations of a trace."""

import numpy as np
import pytest

from simalloc.pool.variations import MAX_BYTES, variation
from simalloc.trace import Op, Trace


@pytest.fixture(scope="module")
def trace():
    rng = np.random.default_rng(2)
    live, op, number, size, thread = [], [], [], [], []
    for event in range(600):
        free = bool(live) and (len(live) > 20 or rng.random() < 0.45)
        op.append(Op.FREE if free else Op.MALLOC)
        number.append(live.pop(rng.integers(len(live))) if free else event)
        size.append(0 if free else int(rng.integers(8, 700)))
        thread.append(int(rng.integers(3)))
        if not free:
            live.append(event)
    return Trace.from_events(op, number, size, thread=thread, name="board")


@pytest.mark.parametrize("number", range(1, 11))
def test_a_variation_depends_on_its_number_and_seed_alone(trace, number):
    once, again = variation(trace, number), variation(trace, number)
    assert once.trace.sha256() == again.trace.sha256()
    if once.changes != ("repeat",):
        assert once.trace.sha256() != variation(trace, number, seed=2).trace.sha256()
    assert once.trace.provenance["variation"]["changes"] == list(once.changes)


def test_orders_keep_what_each_thread_does(trace):
    varied = variation(trace, 1)
    assert varied.changes == ("order",)
    assert sorted(varied.trace.size) == sorted(trace.size)
    for thread in range(3):
        mine = varied.trace.thread == thread
        assert varied.trace.size[mine].tolist() == trace.size[trace.thread == thread].tolist()


def test_sizes_change_by_a_few_bytes(trace):
    varied = variation(trace, 2)
    assert varied.changes == ("sizes",)
    assert varied.trace.op.tolist() == trace.op.tolist()
    change = np.abs(varied.trace.size - trace.size)
    assert 0 < change.max() <= MAX_BYTES
    assert (varied.trace.size[trace.op == Op.MALLOC] > 0).all()


def test_a_phase_has_every_request_of_the_program(trace):
    varied = variation(trace, 3)
    assert varied.changes == ("phase",)
    asked = trace.size[trace.op == Op.MALLOC]
    again = varied.trace.size[varied.trace.op == Op.MALLOC]
    assert len(again) >= len(asked)
    assert set(again) == set(asked)


def test_a_repeated_program_begins_with_nothing_live(trace):
    varied = variation(trace, 4)
    assert varied.changes == ("repeat",)
    assert varied.trace.objects == 2 * trace.objects
    peak = int(trace.replayed.live.max())
    assert int(varied.trace.replayed.live.max()) == peak
    assert varied.trace.replayed.live[-1] == trace.replayed.live[-1]
