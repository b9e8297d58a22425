"""What replays events in one thread refuses to answer another meanwhile: its memory is changing."""

import threading
from functools import partial

import numpy as np
import pytest
from patience import wait_until

from simalloc.heap._device import Device
from simalloc.heap.setting import Setting
from simalloc.trace import Op, Trace

PAIRS = 1_000_000


@pytest.fixture(scope="module")
def trace():
    """A malloc and its free, again and again: a tenth of a second of work."""
    op = np.tile(np.array([Op.MALLOC, Op.FREE], np.uint8), PAIRS)
    size = np.tile(np.array([16, 0]), PAIRS)
    return Trace.from_events(op, np.repeat(np.arange(PAIRS), 2), size)


def heap(trace):
    simulation = Setting.of(trace, "first-fit-ao", 1, None).simulation(checked=True)
    op, size, slot, live, spans, _ = trace.replayed.part(0, PAIRS // 50)  # each is checked, slowly
    asked = simulation.figures, simulation.unsearchable, simulation.block_count, simulation.check
    return asked, lambda: simulation.replay(op, size, slot, live, spans, {})


def no_cache():
    capacity = {"capacity": 1 << 40}
    return Device(
        "no cache", capacity, frees_first=True, checked=False, keeps_calls=False, goes_on=False
    )


def device(trace):
    device = no_cache()
    nothing = [None] * 7
    asked = device.figures, device.pools, device.calls
    return asked, lambda: device.replay(trace.op, trace.size, trace.slot, *nothing)


def is_refused(kind, trace, number):
    """Whether a question is refused while events are replayed in another thread.

    On a busy machine they may have been replayed before it is asked.
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
    questions[number]()  # and answered again
    return refused


@pytest.mark.parametrize("kind", [heap, device])
def test_a_replay_in_another_thread_is_left_alone(trace, kind):
    for number in range(len(kind(trace)[0])):
        wait_until(partial(is_refused, kind, trace, number))


def test_states_of_a_device_are_all_wanted_or_none_is():
    device = no_cache()
    event = np.zeros(1, np.uint8), np.ones(1, np.int64), np.zeros(1, np.uint32), None, None
    with pytest.raises(ValueError, match="either all states are wanted or none is"):
        device.replay(*event, np.empty(1, np.int64), None, None, None, None)
