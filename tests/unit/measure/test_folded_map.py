"""Folding of address spaces equals folding with a list of chunks, for objects of any size."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simalloc.heap import simulate
from simalloc.measure.folded_map import CHUNK, folded_map, union
from simalloc.trace import Trace

RANGES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 25), st.integers(0, 99)), min_size=1, max_size=30
)


def arrays(ranges):
    first, length, since = (np.array(column, np.int64) for column in zip(*ranges, strict=True))
    return first, first + length, since


def by_chunk(ranges):
    """Return the start of each chunk's use, by chunk number."""
    used = {}
    for first, length, since in ranges:
        for chunk in range(first, first + length):
            used[chunk] = min(since, used.get(chunk, since))
    return dict(sorted(used.items()))


@given(RANGES)
def test_runs_have_the_chunks_of_the_ranges(ranges):
    folding = union(*arrays(ranges))
    runs = zip(folding.first.tolist(), folding.end.tolist(), folding.since.tolist(), strict=True)
    found = {chunk: since for first, end, since in runs for chunk in range(first, end)}
    assert found == by_chunk(ranges)
    assert (folding.end[:-1] <= folding.first[1:]).all()


@given(RANGES, st.integers(0, CHUNK - 1))
def test_addresses_are_folded_by_the_used_chunks_before_them(ranges, inside):
    folding, chunks = union(*arrays(ranges)), list(by_chunk(ranges))
    address = np.array(chunks) * CHUNK + inside
    assert folding.folded(address).tolist() == [
        place * CHUNK + inside for place in range(len(chunks))
    ]
    assert folding.height == len(chunks) * CHUNK


@given(RANGES, st.lists(st.integers(0, 64), min_size=1, max_size=20))
def test_cells_are_used_since_their_first_chunk_is(ranges, edges):
    folding, since = union(*arrays(ranges)), list(by_chunk(ranges).values())
    edges = sorted({min(edge, len(since) - 1) for edge in edges})
    ends = [*edges[1:], len(since)]
    expected = [min(since[low:high]) for low, high in zip(edges, ends, strict=True)]
    assert folding.used_since(np.array(edges)).tolist() == expected


@given(RANGES, RANGES)
def test_batches_come_to_the_whole(ranges, others):
    first = union(*arrays(ranges))
    joined = union(*map(np.concatenate, zip(first, arrays(others), strict=True)))
    whole = union(*arrays(ranges + others))
    cells = np.arange(len(by_chunk(ranges + others)))
    assert joined.used_since(cells).tolist() == whole.used_since(cells).tolist()


def test_a_map_of_a_petabyte_takes_no_memory_for_its_pages():
    count = 1024
    trace = Trace.from_events([0] * count, range(count), [1 << 40] * count)
    run = simulate(trace, "ptmalloc")
    drawn, stays = folded_map(trace, run, columns=40, rows=30, named=5)
    assert drawn.mapped[:, -1].all()
    assert not drawn.mapped[-1, 0]
    assert len(stays) == 5
