"""The decoder of trace files compared with the table, which is independent of the event order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simalloc.trace import MAX_SIZE, Op, ReplayedEvents, Trace
from simalloc.trace._c import Decoder, LiveTable
from simalloc.trace.chunk import pack
from simalloc.trace.events import Reason

RING = 1 << 14
"""Number of younger objects after which an object has left the ring."""

TOTALS = (
    "objects",
    "reallocs",
    "slots",
    "free_count",
    "allocated_bytes",
    "live_bytes",
    "max_live_bytes",
)


def decode(trace, chunk_events, part_events, *, objects):
    """Decode a trace cut into chunks, each in parts; return the decoder and the columns."""
    decoder = Decoder(np.empty(RING, np.uint32))
    into = ReplayedEvents.empty(len(trace))
    numbers = np.empty(len(trace), np.int64)
    for start in range(0, len(trace), chunk_events):
        stop = min(start + chunk_events, len(trace))
        chunk = slice(start, stop)
        packed = pack(trace.op[chunk], trace.object[chunk], trace.size[chunk], decoder.objects)
        decoder.begin(*packed, stop - start)
        for at in range(start, stop, part_events):
            part = slice(at, min(at + part_events, stop))
            columns = into.part(part.start, part.stop)
            answer = decoder.decode(*columns[:4], numbers[part] if objects else None)
            assert answer[:3] == (True, part.stop - part.start, Reason.NONE)
    return decoder, into, numbers


def check(trace, chunk_events=1 << 20, part_events=1 << 17):
    table = LiveTable()
    slots = np.empty(len(trace), np.uint32)
    table.enter(trace.op, trace.object, trace.size, np.empty(len(trace), np.int64), slots)
    for objects in (True, False):
        decoder, into, numbers = decode(trace, chunk_events, part_events, objects=objects)
        assert [getattr(decoder, name) for name in TOTALS] == [
            getattr(table, name) for name in TOTALS
        ]
        np.testing.assert_array_equal(into.op, trace.op)
        np.testing.assert_array_equal(into.size, trace.size)
        np.testing.assert_array_equal(into.slot, slots)
        np.testing.assert_array_equal(into.live, trace.replayed.live)
        if objects:
            np.testing.assert_array_equal(numbers, trace.object)


def lives(lifetimes, sizes, reallocs):
    """Return a trace with one allocation per turn; an object is freed after its lifetime.

    Lifetimes are in turns. If `reallocs` is not 0, one in `reallocs` objects is reallocated to its
    own size halfway.
    """
    births = np.arange(len(lifetimes))
    resized = births[births % reallocs == 0] if reallocs else births[:0]
    turn = np.concatenate([births, births + lifetimes, resized + lifetimes[resized] // 2])
    op = np.repeat([Op.MALLOC, Op.FREE, Op.REALLOC], [len(births), len(births), len(resized)])
    key = np.concatenate([births, births, resized])
    order = np.lexsort((op == Op.FREE, op != Op.MALLOC, turn))
    order = order[: np.searchsorted(turn[order], len(births))]
    size = np.where(op == Op.FREE, 0, sizes[key])
    return Trace.from_events(op[order].astype(np.uint8), key[order], size[order])


@pytest.mark.parametrize("mean", [2, 1000, 20_000])
@pytest.mark.parametrize("reallocs", [0, 3])
def test_objects_of_every_age(mean, reallocs):
    random = np.random.default_rng(mean)
    check(lives(random.geometric(1 / mean, 50_000), random.integers(0, 300, 50_000), reallocs))


def test_a_few_old_objects_among_many_young_ones():
    lifetimes = np.ones(50_000, np.int64)
    lifetimes[::50] = 30_000
    lifetimes[7::5000] = 50_000
    check(lives(lifetimes, np.full(50_000, 8), 0), chunk_events=100_000)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0, 255, 1 << 31, 1 << 40, MAX_SIZE]))),
    st.integers(0, 2),
    st.integers(1, 9),
    st.integers(1, 9),
)
def test_sizes_of_every_width(objects, reallocs, chunk_events, part_events):
    lifetimes, sizes = np.array(objects, np.int64).reshape(-1, 2).T
    check(lives(lifetimes, sizes, reallocs), chunk_events, part_events)


def test_it_says_which_event_is_not_valid():
    decoder, into = Decoder(np.empty(RING, np.uint32)), ReplayedEvents.empty(3)
    ops = np.array([Op.CALLOC, Op.FREE, Op.FREE], np.uint8)
    sizes, ages = np.array([[8]], np.uint8), np.array([[1, 1]], np.uint8)
    decoder.begin(ops, sizes, ages, 3)
    assert decoder.decode(*into[:4], None) == (True, 2, Reason.FREE_OF_DEAD, 0)


def test_a_chunk_ends_where_it_is_not_sound():
    decoder = Decoder(np.empty(RING, np.uint32))
    ops, sizes = np.zeros(2048, np.uint8), np.zeros((1, 1), np.uint8)  # mallocs only, with one size
    decoder.begin(ops, sizes, np.zeros((1, 0), np.uint8), 2048)
    assert not decoder.decode(*ReplayedEvents.empty(1024)[:4], None)[0]
    with pytest.raises(ValueError, match="1024 events requested, but only 0 remain"):
        decoder.decode(*ReplayedEvents.empty(1024)[:4], None)


@pytest.mark.parametrize("entries", [0, 3])
def test_the_ring_is_a_power_of_two(entries):
    with pytest.raises(ValueError, match=f"{entries} entries are not a power of two"):
        Decoder(np.empty(entries, np.uint32))


def test_no_more_events_can_be_had_than_there_are():
    decoder = Decoder(np.empty(RING, np.uint32))
    with pytest.raises(ValueError, match="1 events requested, but only 0 remain"):
        decoder.decode(*ReplayedEvents.empty(1)[:4], None)
    decoder.begin(np.zeros(3, np.uint8), np.zeros((1, 3), np.uint8), np.zeros((1, 0), np.uint8), 3)
    with pytest.raises(ValueError, match="4 events requested, but only 3 remain"):
        decoder.decode(*ReplayedEvents.empty(4)[:4], None)
    assert decoder.decode(*ReplayedEvents.empty(3)[:4], None)[:2] == (True, 3)


@pytest.mark.parametrize(
    ("ops", "sizes", "ages", "words"),
    [
        (np.zeros(2, np.uint8), np.zeros((1, 3), np.uint8), np.zeros((1, 0), np.uint8), "ops"),
        (np.zeros(3, np.uint8), np.zeros(3, np.uint8), np.zeros((1, 0), np.uint8), "sizes"),
        (np.zeros(3, np.uint8), np.zeros((1, 3), np.uint8), np.zeros((9, 0), np.uint8), "ages"),
        (np.zeros(3, np.uint8), np.zeros((0, 3), np.uint8), np.zeros((1, 0), np.uint8), "sizes"),
    ],
)
def test_columns_of_other_shapes_are_refused(ops, sizes, ages, words):
    with pytest.raises(ValueError, match=words):
        Decoder(np.empty(RING, np.uint32)).begin(ops, sizes, ages, 3)
