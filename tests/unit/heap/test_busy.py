"""While an object replays events in one thread, its memory changes and it refuses other threads."""

import threading
from functools import partial

import numpy as np
import pytest
from patience import wait_until

from simalloc.heap.running.setting import Setting
from simalloc.trace import Op, Trace

PAIRS = 1_000_000


@pytest.fixture(scope="module")
def trace():
    """A trace that repeats a malloc and its free, a tenth of a second of work."""
    op = np.tile(np.array([Op.MALLOC, Op.FREE], np.uint8), PAIRS)
    size = np.tile(np.array([16, 0]), PAIRS)
    return Trace.from_events(op, np.repeat(np.arange(PAIRS), 2), size)


def heap(trace):
    simulation = Setting.of(trace, "first-fit-ao", scale=1).simulation(checked=True)
    op, size, slot, live, spans, _ = trace.replayed.part(0, PAIRS // 50)  # checked, therefore slow
    asked = simulation.figures, simulation.unsearchable, simulation.block_count, simulation.check
    return asked, lambda: simulation.replay(op, size, slot, live, spans, {})


def device(trace):
    simulation = Setting.of(trace, "no-cache", scale=1).simulation(keeps_mappings=True)
    op, size, slot, live, spans, _ = trace.replayed
    asked = simulation.figures, simulation.report, simulation.mappings, simulation.figure_names
    return asked, lambda: simulation.replay(op, size, slot, live, spans, {})


def is_refused(kind, trace, number):
    """Return whether a call is refused while events are replayed in another thread.

    On a busy machine, the replay may end before the call.
    """
    questions, replay = kind(trace)
    thread = threading.Thread(target=replay)
    thread.start()
    refused = False
    while thread.is_alive() and not refused:
        try:
            questions[number]()
        except RuntimeError as error:
            refused = "in another thread" in str(error)
    thread.join()
    questions[number]()  # answered after the replay
    return refused


@pytest.mark.parametrize("kind", [heap, device])
def test_a_replay_in_another_thread_is_left_alone(trace, kind):
    for number in range(len(kind(trace)[0])):
        wait_until(partial(is_refused, kind, trace, number))
