"""The search for the sizes of a pool, compared with a trial of every size."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simalloc.heap.running.event_by_event import run_one
from simalloc.heap.running.setting import Setting
from simalloc.policy import find_policy
from simalloc.pool.search import Outcome, find_sizes
from simalloc.pool.trial import PoolTrial
from simalloc.trace import Op, Trace

DATA = Path(__file__).parents[2] / "data" / "pools"
FAMILIES = [
    "esp-idf", "esp-idf:release=53", "lvgl", "tlsf:mechanism=on,word=4,capacity=64K", "zephyr",
    "zephyr:through=malloc", "o1heap", "tlsf-bsd", "freertos-heap-2", "lwip:align=4", "rt-thread",
    "rt-thread-memheap", "threadx", "newlib-nano", "picolibc", "avr-libc",
    "umm-malloc", "umm-malloc:fit=first", "umm-malloc:port=upstream", "newlib", "emmalloc",
    "nuttx", "nuttx:delay=4", "nuttx:small=on",
    "tlsf", "best-fit-ao-8k", "first-fit-lifo:growth=1", "quick-fit", "phk", "gnu-1995",
    "bw-gc-2.6", "ptmalloc", "jemalloc", "tcmalloc", "mimalloc", "musl", "scudo",
]  # fmt: skip
"""Allocators that report how far a pool may grow with the same decisions."""


class Made:
    """A trial with given failing sizes; runs of equivalent sizes are reported at once."""

    def __init__(self, fails, grain, tells):
        self.fails, self.grain, self.tells = fails, grain, tells
        self.is_monotone = False
        self.calls = 0

    def __call__(self, capacity):
        self.calls += 1
        at = capacity // self.grain
        end = at
        while self.tells and end + 1 < len(self.fails) and self.fails[end + 1] == self.fails[at]:
            end += 1
        return Outcome(int(self.fails[at]), end * self.grain)


@given(
    fails=st.lists(st.booleans(), min_size=20, max_size=400),
    grain=st.sampled_from([1, 4, 8]),
    tells=st.booleans(),
    low=st.integers(1, 19),
)
def test_every_size_is_settled(fails, grain, tells, low):
    most = len(fails) // 2 - 1
    trial = Made([*fails, *[False] * len(fails)], grain, tells)
    found = find_sizes(trial, low * grain, most * grain)
    works = [at for at in range(low, most + 1) if not trial.fails[at]]
    if not works:
        assert found is None
        return
    least = works[0]
    failing = [at * grain for at in range(least, 2 * least + 1) if trial.fails[at]]
    assert found.smallest == least * grain
    assert list(found.failing) == failing
    assert found.safe == (failing[-1] + grain if failing else least * grain)
    assert found.near == tuple(size for size in failing if size <= 1.3 * least * grain)


@given(least=st.integers(10, 5000), low=st.integers(1, 10), grain=st.sampled_from([1, 4, 16]))
def test_a_rule_needs_few_replays(least, low, grain):
    trial = Made([True] * least + [False] * 20_000, grain, tells=False)
    trial.is_monotone = True
    found = find_sizes(trial, low * grain, 15_000 * grain)
    assert (found.smallest, found.failing, found.is_proven) == (least * grain, (), True)
    assert trial.calls < 40


@given(
    least=st.integers(10, 5000),
    guess=st.integers(1, 6000),
    grain=st.sampled_from([1, 4, 16]),
)
def test_a_guess_changes_only_the_number_of_replays(least, guess, grain):
    trial = Made([True] * least + [False] * 20_000, grain, tells=False)
    trial.is_monotone = True
    found = find_sizes(trial, 9 * grain, 15_000 * grain, guess=guess * grain - grain // 2)
    assert found.smallest == least * grain
    assert (trial.calls == 2) == (guess == least)


def drawn(seed, events=1200):
    """Return a trace of requests of many sizes, with reallocs and a few alignments."""
    rng = np.random.default_rng(seed)
    live, op, number, size, alignment = [], [], [], [], []
    for event in range(events):
        choice = rng.integers(10)
        if live and choice < 4:
            op.append(Op.FREE)
            number.append(live.pop(rng.integers(len(live))))
        elif live and choice < 5:
            op.append(Op.REALLOC)
            number.append(live[rng.integers(len(live))])
        else:
            op.append(Op.MALLOC)
            number.append(event)
            live.append(event)
        size.append(int(rng.integers(1, rng.choice([40, 400, 3000]))) if op[-1] != Op.FREE else 0)
        alignment.append(int(rng.choice([0, 0, 0, 16, 64])) if op[-1] == Op.MALLOC else 0)
        if len(live) > 60:
            op.append(Op.FREE)
            number.append(live.pop(rng.integers(len(live))))
            size.append(0)
            alignment.append(0)
    return Trace.from_events(op, number, size, alignment=alignment)


def addresses(trace, policy):
    setting = Setting.of(trace, policy, on_refusal="stop")
    return run_one(setting, addresses=True).addresses


@pytest.mark.parametrize("name", FAMILIES)
def test_pools_that_are_said_to_be_alike_place_alike(name):
    rng = np.random.default_rng(7)
    larger = 0
    for seed in range(3):
        trace = drawn(seed)
        trial = PoolTrial.of(find_policy(name), [trace])
        for _ in range(8):
            low = trial.peak_live * rng.uniform(0.7, 1.9)
            capacity = int(low) // trial.grain * trial.grain
            outcome = trial(capacity)
            expected = addresses(trace, trial.with_capacity(capacity))
            middle = (capacity + outcome.same_until) // 2 // trial.grain * trial.grain
            for other in {middle, outcome.same_until // trial.grain * trial.grain}:
                larger += other > capacity
                assert trial(other).refused == outcome.refused
                np.testing.assert_array_equal(
                    addresses(trace, trial.with_capacity(other)), expected
                )
    assert larger >= 10


@pytest.mark.parametrize("name", ["esp-idf", "zephyr", "o1heap", "freertos-heap-2", "nuttx"])
def test_no_failing_size_is_missed(name):
    trace = drawn(5, events=600)
    trial = PoolTrial.of(find_policy(name), [trace])
    found = find_sizes(trial, max(trial.peak_live, trial.min_capacity), 1 << 20)
    sizes = range(found.smallest - 8 * trial.grain, int(1.15 * found.smallest), trial.grain)
    fails = [size for size in sizes if refuses(trace, trial.with_capacity(size))]
    assert fails == [
        *range(found.smallest - 8 * trial.grain, found.smallest, trial.grain),
        *(size for size in found.failing if size in sizes),
    ]


@pytest.mark.parametrize("name", ["tlsf-bsd", "wee-alloc", "wee-alloc:size_classes=off"])
def test_every_larger_pool_works_where_the_rules_say_so(name):
    drawn_once = drawn(5, events=600)
    trace = Trace.from_events(drawn_once.op, drawn_once.object, drawn_once.size)
    trial = PoolTrial.of(find_policy(name), [trace])
    found = find_sizes(trial, max(trial.peak_live, trial.min_capacity), 1 << 24)
    rng = np.random.default_rng(3)
    smaller = rng.integers(trial.min_capacity, found.smallest, 20)
    larger = rng.integers(found.smallest, 2 * found.smallest, 40)
    assert found.is_proven
    assert all(trial(int(size)).refused for size in [*smaller, found.smallest - trial.grain])
    assert not any(trial(int(size)).refused for size in [*larger, found.smallest])


def refuses(trace, policy):
    return len(addresses(trace, policy)) < len(trace) or trace_is_refused_last(trace, policy)


def trace_is_refused_last(trace, policy):
    setting = Setting.of(trace, policy, on_refusal="stop")
    simulation = setting.simulation()
    for part in trace.replayed_parts(setting.columns):
        simulation.replay(*part[:5], part.columns)
    return simulation.figures()["first_refused"] > 0
