"""simulate_all() of devices: side by side, over a trace in memory or in a file."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from simalloc.errors import SimallocError
from simalloc.heap import heap_snapshot, simulate, simulate_all
from simalloc.trace import Op, Trace, open_trace, write_trace

OBJECTS = 1000
TRACE = Trace.from_events(
    np.repeat(np.array([Op.MALLOC, Op.FREE], np.uint8), OBJECTS),
    np.r_[0:OBJECTS, 0:OBJECTS],
    np.r_[1 : OBJECTS + 1, np.zeros(OBJECTS, np.int64)],
    name="made",
)
DEVICES = ["pytorch", "bfc", "ort-arena", "rmm-pool", "no-cache"]


@pytest.fixture(autouse=True)
def short_strides(monkeypatch):
    monkeypatch.setattr(sys.modules["simalloc.heap.running.strides"], "STRIDE", 100)


@pytest.fixture
def file(tmp_path):
    write_trace(TRACE, tmp_path / "made.npz")
    return open_trace(tmp_path / "made.npz")


def test_on_all_cores_they_do_what_each_does_alone(file):
    advances = []
    runs = simulate_all(file, DEVICES, addresses=True, progress=advances.append)
    assert sum(advances) == len(DEVICES) * len(TRACE)
    for run, name in zip(runs, DEVICES, strict=True):
        alone = simulate(TRACE, name, addresses=True)
        assert run == alone
        np.testing.assert_array_equal(run.addresses, alone.addresses)


def test_a_program_that_ends_early_leaves_the_others_alone(file):
    small = f"no-cache:capacity={300 * 2 << 20}"
    early, whole = simulate_all(file, [small, "no-cache"], addresses=True)
    assert early == simulate(TRACE, small)
    assert early.events == len(early.addresses) == early.device.first_refused_event == 301
    assert whole.events == len(TRACE)
    with pytest.raises(SimallocError, match="ran out of memory at event 301;"):
        heap_snapshot(file, early)


def test_an_interruption_stops_every_device_after_its_stride(file, monkeypatch):
    advances, telling, stopping = [], threading.Event(), threading.Event()

    def report(events):
        telling.set()
        stopping.wait()
        advances.append(events)

    def interrupted(_):
        telling.wait()
        raise KeyboardInterrupt

    def shut_down(*arguments, **options):
        stopping.set()
        shutdown(*arguments, **options)

    shutdown = ThreadPoolExecutor.shutdown
    monkeypatch.setattr(ThreadPoolExecutor, "shutdown", shut_down)
    monkeypatch.setattr(sys.modules["simalloc.heap.running.side_by_side"], "completed", interrupted)
    threads = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        simulate_all(file, DEVICES, progress=report)
    assert len(advances) <= len(DEVICES)
    assert set(threading.enumerate()) <= threads
