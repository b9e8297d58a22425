"""Measurements of a trace that stays in its file equal measurements of it in memory."""

from dataclasses import asdict

import numpy as np
import pytest

from simalloc.heap import heap_snapshot, simulate
from simalloc.measure import free_sizes, heap_map, longest_stays, pins, waste, watch
from simalloc.measure.free_sizes import FreeClasses
from simalloc.measure.heap_map import Drawing
from simalloc.measure.longest_stays import Longest
from simalloc.measure.pins import PinSearch
from simalloc.trace import open_trace, write_trace
from simalloc.trace.catalogue import load

POLICY = "first-fit-lifo"


@pytest.fixture(scope="module")
def whole():
    """A trace in memory with call sites."""
    trace = load("make").prefix(9000)
    if trace.site is not None:
        return trace
    sites = np.arange(len(trace), dtype=np.uint32) % 9
    return type(trace).from_events(trace.op, trace.object, trace.size, name="make", site=sites)


@pytest.fixture
def in_file(whole, tmp_path, monkeypatch):
    """The trace in a file that is read some hundred events at a time."""
    monkeypatch.setattr("simalloc.trace.reader.REPLAYED_EVENTS", 256)
    write_trace(whole, tmp_path / "trace.npz")
    return open_trace(tmp_path / "trace.npz")


def columns(found):
    return [np.asarray(value).tolist() for value in vars(found).values()]


@pytest.mark.parametrize("event", [None, 0, 255, 256, 4711, 8999])
def test_moments(whole, in_file, event):
    run = simulate(whole, POLICY)
    streamed = heap_snapshot(in_file, run, event)
    assert columns(streamed) == columns(heap_snapshot(whole, run, event))


def test_pins_and_their_sites(whole, in_file):
    run = simulate(in_file, POLICY)
    assert pins(in_file, run) == pins(whole, run)
    assert pins(in_file, run).alone[0].site is not None


def test_free_sizes_and_waste(whole, in_file):
    run = simulate(in_file, POLICY)
    assert columns(free_sizes(in_file, run)) == columns(free_sizes(whole, run))
    assert asdict(waste(in_file, run)) == asdict(waste(whole, run))


def test_a_heap_looked_at_in_parts(whole, monkeypatch):
    run = simulate(whole, "first-fit-lifo:mechanism=on")
    at_once = columns(heap_snapshot(whole, run)), pins(whole, run, most=70), waste(whole, run)
    monkeypatch.setattr("simalloc.heap.watch.heap_replay._PART_BLOCKS", 7)
    monkeypatch.setattr("simalloc.heap.watch.heap_replay._MAX_PARTS", 1000)
    assert len(at_once[0][2]) > 70
    assert (
        columns(heap_snapshot(whole, run)),
        pins(whole, run, most=70),
        waste(whole, run),
    ) == at_once


def test_one_replay_for_several_measures(whole, in_file):
    run = simulate(in_file, POLICY)
    drawing, longest = Drawing(run, columns=30, rows=20), Longest(run, 50)
    search, classes = PinSearch(in_file, run), FreeClasses(run)
    watch(in_file, run, [drawing, longest], [search, classes])
    assert columns(longest.stays(in_file)) == columns(longest_stays(whole, run, 50))
    assert search.pins() == pins(whole, run)
    assert columns(classes.sizes()) == columns(free_sizes(whole, run))
    drawn, expected = drawing.map(), heap_map(whole, run, columns=30, rows=20)
    np.testing.assert_array_equal(drawn.live, expected.live)
    np.testing.assert_array_equal(drawn.age, expected.age)


@pytest.mark.parametrize("events", [None, (0, 300), (4000, 8191)])
def test_heap_maps(whole, in_file, events):
    kept = simulate(whole, POLICY, addresses=True, realloc="in-place")
    streamed = heap_map(in_file, simulate(in_file, POLICY, realloc="in-place"), events=events)
    in_memory = heap_map(whole, kept, events=events)
    np.testing.assert_array_equal(streamed.live, in_memory.live)
    np.testing.assert_array_equal(streamed.age, in_memory.age)


@pytest.mark.parametrize("most", [0, 1, 50, 10**6])
def test_longest_stays(whole, in_file, most):
    run = simulate(in_file, POLICY)
    kept = simulate(whole, POLICY, addresses=True)
    assert columns(longest_stays(in_file, run, most)) == columns(longest_stays(whole, kept, most))
