"""The heap map compared with a map painted byte by byte and event by event."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.measure import atlas, heap_map
from simalloc.trace import Op, Trace

M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC


@st.composite
def traces(draw, most=30, acts="mmfr"):
    """Draw a trace of small objects: up to `most` events, each malloc, free or realloc."""
    events, live = [], []
    for number in range(draw(st.integers(1, most))):
        act = draw(st.sampled_from(acts)) if live else "m"
        if act == "m":
            live.append(number)
            events.append((M, number, draw(st.integers(0, 20))))
        else:
            chosen = draw(st.sampled_from(live))
            events.append((R if act == "r" else F, chosen, draw(st.integers(0, 20))))
            if act == "f":
                live.remove(chosen)
    return Trace.from_events(*zip(*events, strict=True))


def painted(trace, run):
    """Return live (0 or 1) and age of every scaled byte after every event."""
    top = int(run.peak_heap_bytes * run.scale)
    live = np.zeros((top, len(trace)))
    age = np.zeros((top, len(trace)))
    standing = {}
    for event, (op, number, size) in enumerate(
        zip(trace.op, trace.object, trace.size, strict=True)
    ):
        before = standing.pop(number, None)
        if op != F:
            address = int(run.addresses[event])
            birth = before[2] if before and before[0] == address else event
            standing[number] = (address, max(int(size), 1) * run.scale, birth)
        for address, gross, birth in standing.values():
            live[address : address + gross, event] = 1
            age[address : address + gross, event] = event + 0.5 - birth
    return live, age


@given(traces(), st.sampled_from(["first-fit-lifo", "binary-buddy"]), st.integers(1, 9),
       st.integers(1, 9))  # fmt: skip
def test_every_cell_is_the_sum_of_its_bytes_and_events(trace, policy, columns, rows):
    run = simulate(trace, policy, scale=2, realloc="in-place", addresses=True)
    shown = heap_map(trace, run, columns=columns, rows=rows)
    live, _ = painted(trace, run)
    tall, wide = round(shown.cell_bytes * run.scale), shown.cell_events
    for row in range(shown.live.shape[0]):
        for column in range(shown.live.shape[1]):
            part = live[row * tall : (row + 1) * tall, column * wide : (column + 1) * wide]
            expected = part.sum() / (tall * part.shape[1])
            assert shown.live[row, column] == pytest.approx(expected)


@given(traces(), st.integers(1, 9), st.integers(1, 9))
def test_a_coarser_map_is_one_of_larger_cells(trace, cell_events, cell_bytes):
    run = simulate(trace, "first-fit-lifo", scale=1, realloc="in-place", addresses=True)
    end, top = len(trace), max(1, int(run.peak_heap_bytes))

    def drawn(events, size):
        return heap_map(trace, run, columns=-(-end // events), rows=-(-top // size))

    fine, expected = drawn(cell_events, cell_bytes), drawn(2 * cell_events, 2 * cell_bytes)
    assume(fine.cell_events * 2 == expected.cell_events)
    assume(fine.cell_bytes * 2 == expected.cell_bytes)
    coarse = fine.coarser()
    np.testing.assert_allclose(coarse.live, expected.live)
    # Objects born late in a column may be younger than its middle; their age is then 0.
    rows, columns = (np.arange(0, count, 2) for count in fine.age.shape)
    cut = np.logical_or.reduceat(np.logical_or.reduceat(fine.age == 0, rows), columns, axis=1)
    np.testing.assert_allclose(coarse.age[~cut], expected.age[~cut], atol=1e-9)
    np.testing.assert_allclose(coarse.age, expected.age, atol=fine.cell_events / 2)
    np.testing.assert_array_equal(coarse.heap, expected.heap)
    assert coarse.extent == expected.extent


@given(traces())
def test_ages_of_single_events_and_bytes(trace):
    run = simulate(trace, "best-fit-ao", scale=1, realloc="in-place", addresses=True)
    shown = heap_map(trace, run, columns=len(trace), rows=int(run.peak_heap_bytes))
    live, age = painted(trace, run)
    np.testing.assert_allclose(shown.live, live)
    np.testing.assert_allclose(shown.age[live == 1], age[live == 1])
    assert np.isnan(shown.age[live == 0]).all()


def test_a_window_is_that_part_of_the_whole():
    random = np.random.default_rng(3)
    count = 150
    op = np.repeat([M, F], count)
    order = random.permutation(count)
    trace = Trace.from_events(
        op, np.r_[np.arange(count), order], np.r_[random.integers(1, 50, count), order * 0]
    )
    run = simulate(trace, "first-fit-lifo", scale=1, addresses=True)
    whole = heap_map(trace, run, columns=10**6, rows=10**6)
    part = heap_map(trace, run, events=(50, 250), addresses=(500, 2500), columns=10**6, rows=10**6)
    np.testing.assert_allclose(part.live, whole.live[500:2500, 50:250])
    np.testing.assert_array_equal(part.heap, whole.heap[50:250])
    assert part.extent == (50, 250, 500, 2500)


def test_ages_are_exact_however_large_the_heap():
    """The products of bytes and events far exceed 2**53 here. At the end, no object is live."""
    random = np.random.default_rng(4)
    size = random.integers(1 << 44, 1 << 45, 100)
    order = random.permutation(100)
    trace = Trace.from_events(
        np.repeat([M, F], 100), np.r_[np.arange(100), order], np.r_[size, order * 0]
    )
    run = simulate(trace, "first-fit-lifo", addresses=True)
    shown = heap_map(trace, run, columns=len(trace), rows=1)
    after = [set(range(event + 1)) for event in range(100)]
    after += [set(order[freed + 1 :].tolist()) for freed in range(100)]
    expected = [
        event + 0.5 - np.average(list(live), weights=size[list(live)]) if live else np.nan
        for event, live in enumerate(after)
    ]
    np.testing.assert_allclose(shown.age[0], expected, rtol=1e-9)


def test_an_empty_trace_has_an_empty_map():
    trace = Trace.from_events([], [], [])
    shown = heap_map(trace, simulate(trace, "best-fit-ao", addresses=True))
    assert not shown.live.any()


@given(traces(), st.sampled_from(["first-fit-lifo", "best-possible"]), st.data())
def test_a_run_without_addresses_is_made_again(trace, policy, data):
    last = data.draw(st.integers(0, len(trace)))
    with_addresses, without = (simulate(trace, policy, addresses=kept) for kept in (True, False))
    expected = heap_map(trace, with_addresses, events=(0, last))
    found = heap_map(trace, without, events=(0, last))
    np.testing.assert_array_equal(found.live, expected.live)
    np.testing.assert_array_equal(found.age, expected.age)


def test_what_is_no_run_or_window_of_the_trace_is_refused():
    trace = Trace.from_events([M], [0], [8])
    run = simulate(trace, "best-fit-ao", addresses=True)
    with pytest.raises(SimallocError, match="give the trace of the run"):
        heap_map(Trace.from_events([M, F], [0, 0], [8, 0]), run)
    with pytest.raises(ValueError, match="window"):
        heap_map(trace, run, events=(0, 5))


@pytest.mark.parametrize(("columns", "rows"), [(0, 1), (1, 0), (1, -1)])
def test_a_map_without_cells_is_refused(columns, rows):
    trace = Trace.from_events([M], [0], [8])
    with pytest.raises(ValueError, match="use at least 1 for both"):
        heap_map(trace, simulate(trace, "best-fit-ao", addresses=True), columns=columns, rows=rows)


LARGE = 1 << 20

MAPPED_APART = Trace.from_events(
    [M, M, F, M, R, F, M],
    [0, 1, 1, 2, 2, 2, 3],
    [100, LARGE, 0, 2 * LARGE, 3 * LARGE, 0, LARGE],
    name="apart",
)


@pytest.mark.parametrize(
    ("events", "most"), [(None, 3), ((0, 1), 0), ((0, 4), 2), ((1, 3), 1), ((5, 7), 1)]
)
@pytest.mark.parametrize("kept", [True, False], ids=["addresses kept", "replayed"])
def test_what_is_mapped_apart_is_counted_where_most_is_there_at_once(events, most, kept):
    run = simulate(MAPPED_APART, "dlmalloc-2.8.6", addresses=kept)
    assert heap_map(MAPPED_APART, run, events=events).apart == most * LARGE
    assert atlas(MAPPED_APART, run).window(events=events).apart == most * LARGE
    assert heap_map(MAPPED_APART, run).coarser().apart == 3 * LARGE
    assert heap_map(MAPPED_APART, simulate(MAPPED_APART, "first-fit-ao")).apart == 0
