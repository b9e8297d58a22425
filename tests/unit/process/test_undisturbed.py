"""Snapshots do not disturb a server (the long run: `python -m benchmarks.undisturbed`)."""

from pathlib import Path

import pytest
from process_programs import running

from benchmarks.undisturbed import disturbances, server
from simalloc.process import LiveProcess, take_snapshot

pytestmark = pytest.mark.usefixtures("compiled")  # skips the test if processes may not be read

SNAPSHOTS = 6


def examined(disturb):
    """Run the server under disturbance; return the number of disturbances and its counts."""
    with server() as served:
        times = disturb(LiveProcess(served.child.pid))
        counts = served.finish()
    assert all(counts[name] for name in ("blocks", "waits", "answered", "taken", "received"))
    return times, counts


def test_snapshots_and_stops_end_no_wait_and_lose_no_signal():
    def disturb(process):
        for _ in range(SNAPSHOTS):
            assert not take_snapshot(process).problems
            with process.stopped([], []):
                pass
        return len(process.pauses)

    stops, counts = examined(disturb)
    assert stops >= SNAPSHOTS
    assert not any(disturbances(counts).values()), disturbances(counts)


def test_threads_that_are_let_go_and_stopped_again_lose_no_signal():
    def disturb(process):
        program = process.mappings()[0].start  # never zero, like a lock held forever
        code = [one for one in process.mappings() if "x" in one.permissions]
        with process.stopped([program], code):
            return process.process

    _, counts = examined(disturb)
    assert not any(disturbances(counts).values()), disturbances(counts)


def test_threads_that_are_not_kept_go_on(compiled):
    with running(compiled("blocks"), "threads") as target:
        process = LiveProcess(target.process)
        numbers = process.thread_numbers()
        with process.stopped([], []) as stop:
            assert {traced(process, one) for one in numbers} == {True}
            stop.keep(numbers[:1])
            assert [traced(process, one) for one in numbers] == [True] + [False] * 3
        assert {traced(process, one) for one in numbers} == {False}


def traced(process, thread):
    """Return whether a debugger is attached to a thread."""
    status = Path(f"/proc/{process.process}/task/{thread}/status").read_text("utf-8")
    return "TracerPid:\t0\n" not in status
