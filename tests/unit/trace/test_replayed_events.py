"""Data computed once for a trace's events and used by the replays under all policies."""

import numpy as np
import pytest

from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay
from simalloc.trace import Op, Trace
from simalloc.trace._c import SPAN_EVENTS, live_bytes, live_spans
from simalloc.trace.shapes import ReplayedEvents, empty_spans
from simalloc.trace.statistics import lives_of

M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC

CODES = {False: "core", True: "core-portable"}
"""Engines in C; the key is true for the engine without vector code."""


def churn(objects=3000, seed=5):
    """Return a trace in which all objects, of 0 to 99 bytes, are allocated, resized and freed."""
    random = np.random.default_rng(seed)
    steps = [(number, op) for number in range(objects) for op in (M, R, F)[:: 1 + number % 2]]
    turn = np.array([3 * number + 40 * place for place, (number, _) in enumerate(steps)])
    order = np.argsort(turn + random.integers(0, 40, len(steps)), kind="stable")
    number, op = np.array(steps)[order].T
    return Trace.from_events(op, number, np.where(op == F, 0, random.integers(0, 100, len(op))))


SPAN = np.dtype(
    [
        *((name, np.int64) for name in ("low", "high", "allocated", "without_live")),
        *((name, np.float64) for name in ("inverses", "inverses_by_bytes")),
    ]
)


def test_what_is_live_after_each_event():
    trace = Trace.from_events([M, M, R, F, F, M], [0, 1, 0, 1, 0, 2], [10, 20, 5, 0, 0, 7])
    assert trace.replayed.live.tolist() == [10, 30, 25, 5, 0, 7]
    assert not any(column.flags.writeable for column in trace.replayed[:5])
    random, lives = churn(), lives_of(churn())
    change = random.size.copy()
    change[lives.died[lives.freed]] -= lives.size[lives.freed]
    np.testing.assert_array_equal(random.replayed.live, np.cumsum(change))


def test_what_spans_come_to():
    trace = churn()
    events = trace.replayed
    spans = events.spans.view(SPAN)
    assert len(spans) == len(trace) // SPAN_EVENTS > 20
    cut = slice(len(spans) * SPAN_EVENTS)
    live, size = (column[cut].reshape(-1, SPAN_EVENTS) for column in (events.live, trace.size))
    inverses = np.divide(1, live, where=live > 0, out=np.zeros(live.shape))
    assert (live == 0).any(), "or there is nothing to leave out"
    np.testing.assert_array_equal(spans["low"], live.min(axis=1))
    np.testing.assert_array_equal(spans["high"], live.max(axis=1))
    np.testing.assert_array_equal(spans["allocated"], size.sum(axis=1))
    np.testing.assert_array_equal(spans["without_live"], (live == 0).sum(axis=1))
    np.testing.assert_allclose(spans["inverses"], inverses.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(
        spans["inverses_by_bytes"], (inverses * size).sum(axis=1), rtol=1e-12
    )


def test_a_part_has_the_spans_that_are_whole_in_it():
    events = churn().replayed
    assert events.part(512, 1024).spans.tobytes() == events.spans[2:4].tobytes()
    assert events.part(512, 1300).spans.tobytes() == events.spans[2:5].tobytes()
    assert len(events.part(513, 1300).spans) == 0
    again = events.part(256, len(events.op)).part(256, 768)
    assert again.spans.tobytes() == events.spans[2:4].tobytes()


@pytest.mark.parametrize("portable", [False, True])
def test_measures_do_not_depend_on_spans_that_are_known(portable):
    trace = churn()
    setting = Setting.of(
        trace, "best-fit-ao", scale=16, realloc="free-first", engine=CODES[portable]
    )
    with_spans, without = (setting.simulation() for _ in range(2))
    replay(with_spans, trace.replayed)
    replay(without, trace.replayed._replace(spans=empty_spans(0)))
    some, others = with_spans.figures()["mapped"], without.figures()["mapped"]
    assert some.pop("intervals") == others.pop("intervals")
    assert some == pytest.approx(others, rel=1e-12)


def test_columns_that_do_not_belong_together_are_refused():
    op, size, slot = (
        np.zeros(300, np.uint8),
        np.ones(300, np.int64),
        np.arange(300, dtype=np.uint32),
    )
    live = np.empty(300, np.int64)
    with pytest.raises(ValueError, match="slot of an event is not among 299 slots"):
        live_bytes(op, size, slot, live, np.zeros(299, np.int64))
    with pytest.raises(ValueError, match="300 events do not make 2 spans"):
        live_spans(live, size, empty_spans(2))
    with pytest.raises(ValueError, match="size"):
        live_spans(live, size[1:], empty_spans(1))


def test_a_stretch_to_be_filled_has_columns_of_its_own():
    events = ReplayedEvents.empty(100)
    for number, column in enumerate(events[:4]):
        column[:] = number
    assert [set(column.tolist()) for column in events[:4]] == [{0}, {1}, {2}, {3}]
    assert len(events.spans) == 0
