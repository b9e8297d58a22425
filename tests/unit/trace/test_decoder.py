"""The decoder of trace files beside the table that knows nothing of their order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simalloc.trace import MAX_SIZE, Op, Stretch, Trace
from simalloc.trace._native import Decoder, LiveTable
from simalloc.trace.chunk import pack
from simalloc.trace.events import Reason

TOTALS = ("objects", "reallocs", "slots", "live", "allocated_bytes", "live_bytes", "max_live_bytes")


def decode(trace, chunk_events, *, objects):
    """Decode a trace cut into chunks; return the decoder and the columns."""
    decoder = Decoder()
    into = Stretch.empty(len(trace))
    numbers = np.empty(len(trace), np.int64)
    for start in range(0, len(trace), chunk_events):
        part = slice(start, start + chunk_events)
        packed = pack(trace.op[part], trace.object[part], trace.size[part], decoder.objects)
        length = len(trace.op[part])
        columns = into.part(start, start + chunk_events)
        answer = decoder.decode(*packed, *columns, numbers[part] if objects else None)
        assert answer[:3] == (True, length, Reason.NONE)
    return decoder, into, numbers


def check(trace, chunk_events=1 << 20):
    table = LiveTable()
    slots = np.empty(len(trace), np.uint32)
    table.enter(trace.op, trace.object, trace.size, np.empty(len(trace), np.int64), slots)
    for objects in (True, False):
        decoder, into, numbers = decode(trace, chunk_events, objects=objects)
        assert [getattr(decoder, name) for name in TOTALS] == [
            getattr(table, name) for name in TOTALS
        ]
        np.testing.assert_array_equal(into.op, trace.op)
        np.testing.assert_array_equal(into.size, trace.size)
        np.testing.assert_array_equal(into.slot, slots)
        if objects:
            np.testing.assert_array_equal(numbers, trace.object)


def lives(ages, sizes, reallocs):
    """A trace in which the object allocated `ages[i]` ago, if it is live, is freed at turn i."""
    op, key, size = [], [], []
    live = set()
    for number, (age, asked) in enumerate(zip(ages, sizes, strict=True)):
        live.add(number)
        op.append(Op.MALLOC)
        key.append(number)
        size.append(asked)
        old = number - age
        if old in live:
            resized = reallocs and number % reallocs == 0
            op.append(Op.REALLOC if resized else Op.FREE)
            key.append(old)
            size.append(asked if resized else 0)
            if not resized:
                live.remove(old)
    return Trace.from_events(np.array(op, np.uint8), key, size)


@pytest.mark.parametrize("mean_age", [2, 1000, 40_000])
@pytest.mark.parametrize("reallocs", [0, 3])
def test_objects_of_every_age(mean_age, reallocs):
    """The ring has 16,384 entries at first: what outlives it is found elsewhere."""
    random = np.random.default_rng(mean_age)
    ages = random.geometric(1 / mean_age, 100_000)
    check(lives(ages.tolist(), random.integers(0, 300, 100_000).tolist(), reallocs))


def test_a_few_old_objects_among_many_young_ones():
    ages = np.ones(60_000, np.int64)
    ages[::50] = np.arange(0, 60_000, 50)  # each time the oldest object there is
    ages[7::50] = 20_000
    check(lives(ages.tolist(), [8] * 60_000, 0), chunk_events=10_000)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0, 255, 1 << 31, 1 << 40, MAX_SIZE]))),
    st.integers(1, 9),
)
@settings(max_examples=50)
def test_sizes_of_every_width(turns, chunk_events):
    ages, sizes = [list(column) for column in zip(*turns, strict=True)] or [[], []]
    check(lives(ages, sizes, 2), chunk_events)


def test_it_says_which_event_is_not_valid():
    decoder, into = Decoder(), Stretch.empty(3)
    ops = np.array([0b01_01_00], np.uint8)  # malloc, free, free
    sizes, ages = np.array([[8]], np.uint8), np.array([[1, 1]], np.uint8)
    assert decoder.decode(ops, sizes, ages, *into, None) == (True, 2, Reason.FREE_OF_DEAD, 0)


@pytest.mark.parametrize(
    ("ops", "sizes", "ages", "words"),
    [
        (np.zeros(2, np.uint8), np.zeros((1, 3), np.uint8), np.zeros((1, 0), np.uint8), "ops"),
        (np.zeros(1, np.uint8), np.zeros(3, np.uint8), np.zeros((1, 0), np.uint8), "sizes"),
        (np.zeros(1, np.uint8), np.zeros((1, 3), np.uint8), np.zeros((9, 0), np.uint8), "ages"),
        (np.zeros(1, np.uint8), np.zeros((0, 3), np.uint8), np.zeros((1, 0), np.uint8), "sizes"),
    ],
)
def test_columns_of_other_shapes_are_refused(ops, sizes, ages, words):
    with pytest.raises(ValueError, match=words):
        Decoder().decode(ops, sizes, ages, *Stretch.empty(3), None)
