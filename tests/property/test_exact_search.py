"""The exact search: both engines agree, and no order of placement is lower than its minimum."""

from itertools import combinations, permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simalloc.bound.exact import Buffers, Effort, minimise, reference
from simalloc.bound.exact.engine import Outcome, fit


@st.composite
def buffers(draw, most=6, *, parts=False):
    """Draw buffers with few distinct sizes and times, some with a gap, some aligned.

    With `parts`, all pieces of a buffer but the first use only some of its bytes.
    """
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
    found = Buffers.whole(*columns)
    if parts:
        for piece in np.flatnonzero(np.diff(found.owner) == 0) + 1:
            size = sizes[owner[piece]]
            found.low[piece] = draw(st.integers(0, size - 1))
            found.high[piece] = draw(st.integers(found.low[piece] + 1, size))
    return found


def meeting(buffers):
    """Return the pairs of buffers that are live at the same time."""
    spans = list(zip(buffers.owner, buffers.begin, buffers.end, strict=True))
    return {(a, b) for a, begin, end in spans for b, start, stop in spans
            if a != b and begin < stop and start < end}  # fmt: skip


def min_height(buffers):
    """Return the minimum over all orders, with each buffer placed above the buffers it meets."""
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
    assert problem.height(found.address) == found.lower == min_height(problem)
    for one, other in meeting(problem):
        apart = abs(int(found.address[one]) - int(found.address[other]))
        lower = one if found.address[one] < found.address[other] else other
        assert apart >= problem.size[lower]
    assert not (found.address % problem.alignment).any()


def meets(buffers, one, other, distance):
    """Return whether two buffers at this distance of addresses ever use the same byte at once."""
    return any(
        buffers.begin[a] < buffers.end[b]
        and buffers.begin[b] < buffers.end[a]
        and buffers.low[a] + distance < buffers.high[b]
        and buffers.low[b] < buffers.high[a] + distance
        for a in np.flatnonzero(buffers.owner == one)
        for b in np.flatnonzero(buffers.owner == other)
    )


def fits(buffers, height, address=()):
    """Return whether the buffers without an address can be placed below a height."""
    one = len(address)
    if one == len(buffers):
        return True
    return any(
        fits(buffers, height, (*address, place))
        for place in range(0, height - buffers.size[one] + 1, buffers.alignment[one])
        if not any(meets(buffers, one, other, place - there) for other, there in enumerate(address))
    )


@given(buffers(most=4, parts=True))
def test_the_minimum_with_parts_is_that_of_all_addresses(problem):
    found = minimise(problem, np.arange(len(problem)) * 12, effort=Effort(takes_help=False))
    assert problem.height(found.address) == found.lower
    for other, one in combinations(range(len(problem)), 2):
        assert not meets(problem, one, other, found.address[one] - found.address[other])
    assert not (found.address % problem.alignment).any()
    assert not fits(problem, found.lower - 1)


@given(st.booleans().flatmap(lambda parts: buffers(most=14, parts=parts)), st.data())
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
