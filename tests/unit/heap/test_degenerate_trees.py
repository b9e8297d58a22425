"""Unbalanced trees that have degenerated to lists: no overflow, and Ctrl-C works."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from simalloc.heap import simulate, simulate_all
from simalloc.trace import Op, Trace

TREES = ("abt-ff", "sunos-cartesian")
PROMPT = 20.0
"""CPU seconds within which Ctrl-C must end the run, which otherwise takes minutes."""


def chain(count):
    """Free every second block in address order, so that each node is below the previous one."""
    numbers = np.r_[0 : 2 * count, 0 : 2 * count : 2]
    op = np.repeat([Op.MALLOC, Op.FREE], [2 * count, count]).astype(np.uint8)
    return Trace.from_events(op, numbers, np.where(op == Op.MALLOC, 32, 0))


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("engine", ["core", "reference"])
def test_a_chain_is_gone_through_without_a_stack(name, engine):
    run = simulate(chain(1100), name, scale=1, engine=engine)
    assert run.counters.visited_at_free_worst in {1099, 1100}
    assert run.counters.free_blocks_peak >= 1100


@pytest.mark.parametrize("name", TREES)
def test_a_chain_of_many_nodes_is_checked(name):
    trace = chain(10_000)
    run = simulate(trace, name, scale=1)
    assert run.counters.visited_at_free_worst in {9_999, 10_000}
    simulate(chain(500), name, scale=1, checked=True)


@pytest.mark.parametrize("replay", [
    simulate,
    lambda trace, name, **options: simulate_all(trace, [name, "first-fit-ao"], **options),
], ids=["alone", "side by side"])  # fmt: skip
@pytest.mark.parametrize("name", TREES)
def test_ctrl_c_stops_a_chain(name, replay):
    trace, pressed = chain(300_000), []

    def press():
        pressed.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    def replay_and_press():
        threading.Timer(0.1, press).start()
        replay(trace, name, scale=1)

    with pytest.raises(KeyboardInterrupt):
        replay_and_press()
    assert time.process_time() - pressed[0] < PROMPT
