"""Ctrl-C while the process of a real allocator starts, works or ends leaves no process."""

import os
import signal
import subprocess

import pytest

from simalloc.heap.real import GLIBC, columns_of, native_process
from simalloc.heap.real import process as processes
from simalloc.trace import Op, Trace


@pytest.fixture
def columns():
    with columns_of(Trace.from_events([Op.MALLOC], [0], [8])) as columns:
        yield columns


@pytest.mark.parametrize("moment", ["started", "ended"])
def test_ctrl_c_while_a_process_starts_or_ends_leaves_none(columns, monkeypatch, moment):
    seen = []

    class Pressed(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            seen.append(self)
            if moment == "started":
                signal.raise_signal(signal.SIGINT)

        def kill(self):
            if moment == "ended":
                signal.raise_signal(signal.SIGINT)
            super().kill()

    monkeypatch.setattr(processes.subprocess, "Popen", Pressed)
    with (
        pytest.raises(KeyboardInterrupt),
        native_process(columns, GLIBC, touch=False),
    ):
        assert moment == "ended"
    assert [process.returncode for process in seen] == [-signal.SIGKILL]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_of_the_terminal_does_not_reach_the_process(columns):
    with native_process(columns, GLIBC, touch=False) as process:
        assert os.getpgid(process._process.pid) != os.getpgid(0)


def test_ctrl_c_stays_ignored_where_it_is(columns):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with native_process(columns, GLIBC, touch=False):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
