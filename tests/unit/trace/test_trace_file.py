"""A trace that remains in its file, and the thread that reads ahead."""

import threading

import numpy as np
import pytest
from made_traces import random_events, same
from patience import PATIENCE

from simalloc.errors import TraceError
from simalloc.heap import simulate, simulate_all
from simalloc.trace import Trace, header, open_trace, write_trace
from simalloc.trace.ahead import DEPTH, ahead
from simalloc.trace.catalogue import open_source

TRACE = Trace.from_events(*random_events(500, 40), name="random", time=np.arange(500))


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A file with many chunks."""
    for module in ("trace", "intake", "reader"):
        monkeypatch.setattr(f"simalloc.trace.{module}.CHUNK_EVENTS", 64)
    monkeypatch.setitem(header._IDENTITY, "chunk_events", 64)
    write_trace(TRACE, tmp_path / "random.npz")
    return tmp_path / "random.npz"


def test_it_has_the_events_of_the_trace_as_often_as_asked(path):
    opened = open_trace(path)
    assert (len(opened), opened.name) == (500, "random")
    assert (opened.objects, opened.slots) == (TRACE.objects, TRACE.slots)
    for _ in range(2):
        parts = list(opened.replayed_parts())
        assert [len(part.op) for part in parts] == [64] * 7 + [52]
        for name in ("op", "size", "slot"):
            columns = [getattr(part, name) for part in parts]
            np.testing.assert_array_equal(np.concatenate(columns), getattr(TRACE, name))
    assert same(opened.in_memory(), TRACE)


def test_a_trace_in_memory_streams_the_same_stretches(path):
    streamed = open_trace(path).replayed_parts()
    for own, other in zip(TRACE.replayed_parts(), streamed, strict=True):
        assert all(map(np.array_equal, own, other))
    assert TRACE.in_memory() is TRACE


def test_the_columns_wanted_are_streamed_too(path):
    for source in (TRACE, open_trace(path)):
        parts = list(source.replayed_parts(("time", "site")))
        assert all(part.columns.keys() == {"time"} for part in parts)
        times = [part.columns["time"] for part in parts]
        np.testing.assert_array_equal(np.concatenate(times), TRACE.time)


def test_a_file_is_not_read_into_memory_for_the_columns_that_a_policy_looks_at(path, monkeypatch):
    count = 300
    aligned = Trace.from_events(
        np.zeros(count, int),
        np.arange(count),
        np.full(count, 24),
        alignment=np.arange(count) % 2 * 512,
    )
    write_trace(aligned, path)
    policies = ["best-fit-ao:memalign=on", "best-fit-ao"]
    expected = [simulate(aligned, each).peak_heap_bytes for each in policies]
    monkeypatch.delattr("simalloc.trace.TraceFile.in_memory")
    assert [simulate(open_trace(path), each).peak_heap_bytes for each in policies] == expected
    runs = simulate_all(open_trace(path), policies)
    assert [run.peak_heap_bytes for run in runs] == expected
    assert expected[0] > 2 * expected[1]


def test_a_trace_file_is_opened_and_a_log_is_read(path, tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("m 1 8\nf 1\n")
    assert open_source(path) == open_trace(path)
    assert len(open_source(log)) == 2


@pytest.mark.parametrize("events", [0, 1, 64, 100, 500, 501])
def test_the_beginning_is_a_trace_of_its_own(path, events):
    opened = open_trace(path)
    if events < 300:
        content = path.read_bytes()
        path.write_bytes(content.replace(b"op.5.npy", b"op.X.npy"))  # not read up to here
    expected = TRACE if events >= len(TRACE) else TRACE.prefix(events)
    assert same(opened.prefix(events), expected)


def test_a_file_that_has_been_replaced_is_refused(path):
    opened = open_trace(path)
    write_trace(TRACE.prefix(100), path)
    with pytest.raises(TraceError, match="has changed"):
        next(opened.replayed_parts())
    with pytest.raises(TraceError, match="has changed"):
        opened.in_memory()


def test_damage_comes_to_light_where_it_is(path):
    content = bytearray(path.read_bytes())
    place = content.index(b"op.5.npy") + 20
    content[place : place + 10] = bytes(10)
    path.write_bytes(content)
    parts = open_trace(path).replayed_parts()
    assert sum(len(next(parts).op) for _ in range(5)) == 320
    with pytest.raises(TraceError, match=r"op\.5"):
        next(parts)


def test_a_reader_who_has_enough_ends_the_thread(path):
    threads = set(threading.enumerate())
    parts = open_trace(path).replayed_parts()
    next(parts)
    parts.close()
    assert set(threading.enumerate()) <= threads


def test_no_more_is_made_ahead_than_agreed():
    made = []
    reached = threading.Event()

    def items():
        for number in range(100):
            made.append(number)
            if number == DEPTH:
                reached.set()
            yield number

    taken = ahead(items())
    assert next(taken) == 0
    assert next(taken) == 1
    assert reached.wait(PATIENCE)
    assert len(made) <= 2 + DEPTH
    assert list(taken) == list(range(2, 100))


def test_an_error_comes_after_what_was_made_before_it():
    def items():
        yield 1
        raise ValueError("no more")

    taken = ahead(items())
    assert next(taken) == 1
    with pytest.raises(ValueError, match="no more"):
        next(taken)


def test_ctrl_c_while_the_thread_begins_ends_it(monkeypatch):
    started = []

    class Interrupted(threading.Thread):
        def start(self):
            super().start()
            started.append(self)
            raise KeyboardInterrupt

    monkeypatch.setattr("simalloc.trace.ahead.Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(ahead(iter(range(10**9))))
    assert not started[0].is_alive()
