"""The exact search: both engines agree, and no order of placement is lower than its minimum."""

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simalloc.bound.exact import Buffers, minimise, reference
from simalloc.bound.exact.engine import Outcome, fit


@st.composite
def buffers(draw, most=6):
    """Draw buffers of few sizes and moments, some with a gap, some aligned."""
    count = draw(st.integers(1, most))
    owner, begin, end = [], [], []
    for number in range(count):
        times = sorted(draw(st.sets(st.integers(0, 9), min_size=2, max_size=4)))
        times = times[: len(times) // 2 * 2]
        owner += [number] * (len(times) // 2)
        begin += times[::2]
        end += times[1::2]
    sizes = draw(st.lists(st.integers(1, 7), min_size=count, max_size=count))
    alignments = draw(st.lists(st.sampled_from([1, 1, 1, 2, 4, 6]), min_size=count, max_size=count))
    columns = (np.array(each, np.int64) for each in (sizes, alignments, owner, begin, end))
    return Buffers(*columns)


def meeting(buffers):
    """Return the pairs of buffers that are ever live together."""
    spans = list(zip(buffers.owner, buffers.begin, buffers.end, strict=True))
    return {(a, b) for a, begin, end in spans for b, start, stop in spans
            if a != b and begin < stop and start < end}  # fmt: skip


def least_height(buffers):
    """Return the minimum by placing the buffers in all orders, each above those it meets."""
    pairs = meeting(buffers)
    size, alignment = buffers.size.tolist(), buffers.alignment.tolist()
    least = None
    for order in permutations(range(len(buffers))):
        top, height = {}, 0
        for one in order:
            low = max((top[other] for other in top if (one, other) in pairs), default=0)
            top[one] = -(-low // alignment[one]) * alignment[one] + size[one]
            height = max(height, top[one])
        least = height if least is None else min(least, height)
    return least


@given(buffers())
def test_the_minimum_is_that_of_all_orders(problem):
    start = np.arange(len(problem)) * 12
    found = minimise(problem, start)
    assert problem.height(found.address) == found.lower == least_height(problem)
    for one, other in meeting(problem):
        apart = abs(int(found.address[one]) - int(found.address[other]))
        lower = one if found.address[one] < found.address[other] else other
        assert apart >= problem.size[lower]
    assert not (found.address % problem.alignment).any()


@given(buffers(most=14), st.data())
def test_both_engines_search_alike(problem, data):
    order = data.draw(st.permutations(range(len(problem))))
    rank = np.array(order, np.uint32)
    capacity = data.draw(st.integers(problem.bound() - 1, problem.bound() + 2))
    nodes = data.draw(st.integers(0, 60))
    core, plain = (search(problem, rank, capacity, nodes, 60.0) for search in (fit, reference.fit))
    assert (core.outcome, core.nodes) == (plain.outcome, plain.nodes)
    assert core.failures.tolist() == plain.failures.tolist()
    if core.outcome is Outcome.FITS:
        assert core.address.tolist() == plain.address.tolist()
