"""The trace model: valid and invalid traces, and the numbers of objects and slots."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from made_traces import traces

from simalloc.errors import TraceError
from simalloc.trace import MAX_SIZE, Op, Trace
from simalloc.trace._c import LiveTable
from simalloc.trace.events import allocates, enter

M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC


def test_objects_are_numbered_in_allocation_order_and_slots_used_again():
    trace = Trace.from_events([M, M, F, M, R, F], [70, -5, 70, 70, -5, -5], [8, 0, 99, 3, 9, 0])
    assert trace.object.tolist() == [0, 1, 0, 2, 1, 1]
    assert trace.slot.tolist() == [0, 1, 0, 0, 1, 1]
    assert trace.size.tolist() == [8, 0, 0, 3, 9, 0]
    assert (trace.objects, trace.slots) == (3, 2)
    with pytest.raises(ValueError, match="read-only"):
        trace.size[0] = 1


@pytest.mark.parametrize(
    ("events", "event", "words"),
    [
        ([(F, 1, 0)], 0, "frees object 1, which is not live"),
        ([(M, 1, 8), (F, 1, 0), (F, 1, 0)], 2, "not live"),
        ([(R, 4, 8)], 0, "reallocates object 4"),
        ([(M, 1, 8), (M, 1, 8)], 1, "still live"),
        ([(M, 1, -1)], 0, "requests -1 bytes"),
        ([(M, 1, MAX_SIZE + 1)], 0, f"requests {MAX_SIZE + 1} bytes"),
        ([(7, 1, 8)], 0, "op 7"),
        ([(3, 1, 0)], 0, "uses object 1, which is not live"),
    ],
)
def test_what_cannot_be_is_refused_with_the_event(events, event, words):
    op, key, size = zip(*events, strict=True)
    with pytest.raises(TraceError, match=words) as caught:
        Trace.from_events(op, key, size)
    assert caught.value.event == event


def test_more_than_63_bits_of_bytes_are_refused():
    events = 1 << 16
    with pytest.raises(TraceError, match="allocated in total") as caught:
        Trace.from_events(np.zeros(events, np.uint8), np.arange(events), np.full(events, MAX_SIZE))
    assert caught.value.event == events - 1


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"object": [[1]]}, "shape"),
        ({"size": [1.5]}, "not whole numbers"),
        ({"op": [256]}, "do not fit uint8"),
        ({"thread": [-1]}, "do not fit uint32"),
        ({"alignment": [-16]}, "alignment"),
        ({"time": [1, 2]}, "shape"),
    ],
)
def test_columns_of_the_wrong_kind_are_refused(columns, words):
    with pytest.raises(TraceError, match=words):
        Trace.from_events(**{"op": [0], "object": [0], "size": [8]} | columns)


def test_an_unknown_column_is_a_mistake_of_the_caller():
    with pytest.raises(TypeError, match="colour"):
        Trace.from_events([0], [0], [8], colour=[1])


def test_a_realloc_may_move_its_object_to_another_key():
    op = np.array([M, R, M, F, F], np.uint8)
    key = np.array([100, 100, 100, 200, 100])
    new_key = np.array([0, 200, 0, 0, 0])
    objects, slots = np.empty(5, np.int64), np.empty(5, np.uint32)
    table = LiveTable()
    assert table.enter(op, key, np.full(5, 8), objects, slots, new_key) == (5, 0)
    assert objects.tolist() == [0, 0, 1, 0, 1]
    assert table.free_count == table.slots == 2


def test_the_table_of_live_objects_counts_bytes():
    table = LiveTable()
    op = np.array([M, M, R, F], np.uint8)
    objects, slots = np.empty(4, np.int64), np.empty(4, np.uint32)
    enter(table, op, np.array([1, 2, 1, 2]), np.array([10, 20, 15, 0]), objects, slots)
    assert (table.allocated_bytes, table.max_live_bytes, table.live_bytes) == (45, 35, 15)
    assert (table.objects, table.reallocs, table.free_count, table.slots) == (2, 1, 1, 2)


@pytest.mark.parametrize("wrong", [None, np.zeros(3, np.int32), np.zeros(2), np.zeros(6)[::2]])
def test_the_native_table_refuses_arrays_of_another_kind(wrong):
    good = [np.zeros(3, np.uint8), np.zeros(3, np.int64), wrong, np.empty(3, np.int64)]
    with pytest.raises((TypeError, ValueError, BufferError)):
        LiveTable().enter(*good, np.empty(3, np.uint32))


@given(traces(devices=False))
def test_the_digest_is_that_of_the_events_alone(trace):
    again = Trace.from_events(trace.op, trace.object + 7, trace.size, name="other")
    assert again.sha256() == trace.sha256()


def test_a_digest_tells_the_columns_that_are_named():
    events = [0, 0], [1, 2], [8, 8]
    traces = [
        Trace.from_events(*events, **columns)
        for columns in ({}, {"stream": [0, 0]}, {"stream": [0, 1]}, {"pool": [0, 1]})
    ]
    assert len({trace.sha256() for trace in traces}) == 1
    assert len({trace.digest(("stream",)) for trace in traces}) == 3
    assert len({trace.digest(("pool", "stream")) for trace in traces}) == 4


@given(traces(max_events=12))
def test_the_digest_tells_every_event(trace):
    for place in np.flatnonzero(allocates(trace.op)):
        size = trace.size.copy()
        size[place] += -1 if size[place] else 1
        assert Trace.from_events(trace.op, trace.object, size).sha256() != trace.sha256()


@given(traces())
def test_a_prefix_is_a_trace(trace):
    half = trace.prefix(len(trace) // 2)
    assert half.op.tolist() == trace.op[: len(half)].tolist()
    assert half.columns.keys() == trace.columns.keys()


def test_a_prefix_has_no_negative_length():
    with pytest.raises(ValueError, match="use 0 or more"):
        Trace.from_events([0], [0], [8]).prefix(-1)


@given(traces())
def test_a_pickled_trace_is_equal_and_read_only(trace):
    _ = trace.identity  # cached values are not pickled
    again = pickle.loads(pickle.dumps(trace))
    assert again == trace
    assert hash(again) == hash(trace)
    assert (again.name, again.provenance) == (trace.name, trace.provenance)
    assert not any(values.flags.writeable for values in (again.op, *again.columns.values()))


def test_traces_are_equal_if_their_events_and_columns_are():
    events = [M, F], [1, 1], [8, 0]
    trace = Trace.from_events(*events, name="one")
    assert trace == Trace.from_events(*events, name="another")
    assert trace != Trace.from_events([M, F], [1, 1], [9, 0])
    assert trace != Trace.from_events(*events, thread=[0, 0])
    assert trace != "one"


def test_a_trace_is_a_data_frame():
    pytest.importorskip("pandas")
    frame = Trace.from_events(
        [M, F, Op.THREAD_END], [1, 1, -1], [8, 0, 0], time=[0, 5, 9]
    ).to_pandas()
    assert list(frame.columns) == ["op", "object", "size", "time"]
    assert frame["op"].tolist() == ["malloc", "free", "thread-end"]
    assert frame["time"].tolist() == [0, 5, 9]
