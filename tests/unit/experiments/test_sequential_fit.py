"""The sequential fits with the paper's open choices as parameters."""

import numpy as np
import pytest

from experiments.johnstone_wilson.growth_unit import SEQUENTIAL
from experiments.johnstone_wilson.sequential_fit import SequentialFit
from simalloc.heap import simulate
from simalloc.trace import Op, Trace
from simalloc.trace.catalogue import load

M, F = Op.MALLOC, Op.FREE


def addresses(events, **choices):
    op, keys, size = zip(*events, strict=True)
    trace = Trace.from_events(op, keys, size, name="made")
    policy = SequentialFit(growth=100, **choices)
    return simulate(trace, policy, scale=1, addresses=True).addresses.tolist()


@pytest.mark.parametrize("row", SEQUENTIAL)
def test_it_is_the_catalogues_policy_unless_told_otherwise(row):
    fit, _, order = row.split("-")
    trace = load("p2c").prefix(40_000)
    here = simulate(trace, SequentialFit(fit=fit, order=order), addresses=True)
    catalogue = simulate(trace, f"{row}:growth=64K", addresses=True)
    assert np.array_equal(here.addresses, catalogue.addresses)
    assert here.counters.visited_mean == catalogue.counters.visited_mean


def test_the_high_end_of_a_split_block_can_be_given_out():
    assert addresses([(M, 0, 30), (M, 1, 20)]) == [0, 30]
    assert addresses([(M, 0, 30), (M, 1, 20)], high=True) == [70, 50]


def test_a_remainder_can_enter_the_list_anew():
    """Two holes, the one freed first at 0: it is split, and is searched first or last then."""
    holes = [(M, 0, 40), (M, 1, 10), (M, 2, 40), (M, 3, 10), (F, 0, 0), (F, 2, 0)]
    events = [*holes, (M, 4, 10), (M, 5, 10)]
    assert addresses(events, order="fifo")[-2:] == [0, 10]
    assert addresses(events, order="fifo", enters=True)[-2:] == [0, 50]


def test_the_rover_can_go_past_the_remainder():
    holes = [(M, 0, 40), (M, 1, 10), (M, 2, 40), (M, 3, 10), (F, 0, 0), (F, 2, 0)]
    events = [*holes, (M, 4, 10), (M, 5, 10)]
    assert addresses(events, fit="next")[-2:] == [0, 10]
    assert addresses(events, fit="next", enters=True)[-2:] == [0, 50]


def test_the_free_end_of_the_heap_need_not_count():
    events = [(M, 0, 60), (M, 1, 50), (M, 2, 120)]
    assert addresses(events) == [0, 60, 110]
    trace = Trace.from_events(*zip(*events, strict=True), name="made")
    heaps = [
        simulate(trace, SequentialFit(growth=100, tail=tail), scale=1).peak_heap_bytes
        for tail in (True, False)
    ]
    assert heaps == [300, 400]
