"""Static planners, on cases computed by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.bounds.small import trace_of
from simalloc.bound import Timetable, planners, verify
from simalloc.bound.planners import RULES, planned
from simalloc.errors import PolicyError
from simalloc.heap import simulate
from simalloc.policy import GROUPS
from simalloc.trace import Op, Trace

CHAIN = [(0, 2, 4), (1, 3, 6), (2, 4, 2), (3, 5, 6), (4, 6, 3)]
"""Activations of five layers: each activation is read by the next layer and is then dead."""


def addresses(rule, spans):
    """Return the addresses of spans that are given in the order of their births."""
    table = Timetable.of(trace_of(spans))
    address = planned(table, rule)
    verify(table, address)
    return address.tolist()


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # Order of falling size: the two of 6 bytes are never live together, and both take 0. The
        # object of 4 meets the first 6; the object of 3 meets the second. The object of 2 meets
        # both, but the object of 4 is dead by then, so it takes 6.
        ("tflite-micro", [6, 0, 6, 0, 6]),
        ("tflite-gpu-size", [6, 0, 6, 0, 6]),
        ("xla-spatial", [6, 0, 6, 0, 6]),
        # The peak of 10 bytes occurs while the first two live: 6 takes 0 and 4 takes 6. The next
        # highest total is 9 bytes, 6 and 3: 6 takes 0 and 3 takes 6. The object of 2 is last,
        # above both of 6.
        ("tflite-gpu-breadth", [6, 0, 6, 0, 6]),
        # Order of birth: 4 takes 0 and 6 takes 4. Then 2 takes the gap 0..4, 6 takes 2 above it,
        # and 3 takes 8 above the 6.
        ("iree", [0, 4, 0, 2, 8]),
        # Like a malloc: 2 takes 0..2 of the free 0..4. Then all bytes above 2 are free, and 6 takes
        # 2..8. Then 0..2 is free but too small for 3, which takes 8..11.
        ("ggml", [0, 4, 0, 2, 8]),
    ],
)
def test_a_chain_of_layers(rule, expected):
    assert addresses(rule, CHAIN) == expected


def test_the_lowest_and_the_smallest_gap():
    # Walls of 9, 8 and 7 bytes leave two gaps after the objects of 6 and 5 bytes die: 6 bytes at 9
    # and 5 bytes at 23.
    spans = [(0, 9, 9), (0, 1, 6), (0, 9, 8), (0, 1, 5), (0, 9, 7), (2, 9, 4)]
    assert addresses("iree", spans) == [0, 9, 15, 23, 28, 23]
    table = Timetable.of(trace_of(spans))
    lowest = np.zeros(6, np.int64)
    planners.place_in_order(table.columns, np.arange(6, dtype=np.uint32), lowest, smallest=False)
    assert lowest.tolist() == [0, 9, 15, 23, 28, 9]


def test_xla_prefers_long_lives_in_the_temporal_order():
    # The object of 2 bytes lives longest and takes 0. The object of 3 lives for four events and
    # takes 2. The object of 9 lives for one event and takes 5.
    assert addresses("xla-temporal", [(0, 9, 2), (1, 5, 3), (2, 3, 9)]) == [0, 2, 5]
    assert addresses("xla-spatial", [(0, 9, 2), (1, 5, 3), (2, 3, 9)]) == [12, 9, 0]


def test_executorch_shares_objects():
    # The 8 opens a shared object. The 6 never meets the 8 and shares its start. The 3 meets only
    # the 8, above which no bytes remain, and opens another shared object. The 2 meets the 6 and the
    # 3. No shared object is free, but 2 bytes remain above the 6.
    spans = [(0, 2, 8), (1, 5, 3), (3, 6, 6), (4, 7, 2)]
    assert addresses("executorch", spans) == [0, 8, 0, 6]


def test_ggml_takes_the_higher_of_equal_blocks():
    spans = [(0, 2, 4), (0, 9, 1), (0, 2, 4), (0, 9, 1), (3, 9, 4), (4, 9, 6)]
    assert addresses("ggml", spans) == [0, 4, 5, 9, 5, 10]


def test_merge_alloc_extends_a_chunk():
    # The free 4 is too small for 6. It grows by 2, and the live 5 above it moves to 6.
    assert addresses("mlir-merge-alloc", [(0, 2, 4), (0, 9, 5), (3, 9, 6)]) == [0, 6, 0]
    # Of the free blocks of 4 and 3 bytes, the block of 3 is the best match for 3.
    spans = [(0, 2, 4), (0, 9, 1), (0, 2, 3), (0, 9, 1), (3, 9, 3)]
    assert addresses("mlir-merge-alloc", spans) == [0, 4, 5, 8, 5]


SPANS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 6), st.integers(1, 9)), min_size=1, max_size=14
).map(lambda rows: sorted((begin, begin + length, size) for begin, length, size in rows))


@given(SPANS, st.sampled_from(sorted(RULES)))
def test_every_plan_holds(spans, rule):
    table = Timetable.of(trace_of(spans))
    assert verify(table, planned(table, rule)).heap.max() >= table.peak


@given(SPANS, st.booleans(), st.randoms(use_true_random=False))
def test_gaps_are_those_of_the_definition(spans, smallest, random):
    table = Timetable.of(trace_of(spans))
    order = list(range(len(table)))
    random.shuffle(order)
    found = np.zeros(len(table), np.int64)
    planners.place_in_order(table.columns, np.array(order, np.uint32), found, smallest=smallest)
    placed = {}
    for life in order:
        size, gaps, top = int(table.size[life]), [], 0
        beside = sorted(
            (address, int(table.size[other])) for other, address in placed.items()
            if table.born[other] < table.died[life] and table.born[life] < table.died[other]
        )  # fmt: skip
        for address, length in beside:
            if address - top >= size:
                gaps.append((address - top if smallest else 0, top))
            top = max(top, address + length)
        placed[life] = min(gaps)[1] if gaps else top
    assert found.tolist() == [placed[life] for life in range(len(table))]


def test_planners_are_policies():
    trace = trace_of(CHAIN)
    assert set(GROUPS["planner"]) == set(RULES)
    run = simulate(trace, "tflite-micro", scale=1)
    assert run.peak_heap_bytes == 10
    assert str(run.found) == "the bound itself: planned by tflite-micro"
    assert simulate(trace, "tflite-micro:alignment=4", scale=1).peak_heap_bytes == 12


def test_too_many_objects():
    count = planners.MAX_BUFFERS + 1
    trace = Trace.from_events(np.full(count, Op.MALLOC), np.arange(count), np.ones(count, int))
    with pytest.raises(PolicyError, match=r"this trace has 65,537 objects; .* up to 65,536"):
        planned(Timetable.of(trace), "ggml")
