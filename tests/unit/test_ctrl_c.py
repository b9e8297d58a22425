"""Ctrl-C is noticed during hanging work although it does not interrupt the main thread's wait.

This happens if the signal arrives just before the wait. In these tests, the signal goes to another
thread, which does not interrupt the wait either, at an arbitrary moment.
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

UNHEARD = """
import os, signal, sys, threading, time
from pathlib import Path

hung = Path(sys.argv[1])

def press():
    while not hung.exists():
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
try:
    {work}
except KeyboardInterrupt:
    print("heard")
"""

HANGING = """
#include <fcntl.h>
void *malloc(unsigned long size)
{{
    (void)size;
    open("{hung}", O_CREAT, 0600);
    for (;;) __asm__ volatile("");
}}
"""

NATIVE = """
    from simalloc.heap.real import find_allocator, replay_natively
    from simalloc.trace import Op, Trace
    trace = Trace.from_events([Op.MALLOC], [0], [8])
    replay_natively(trace, [find_allocator(sys.argv[2])])
"""

SIDE_BY_SIDE = """
    from collections import deque
    from simalloc.heap.running.side_by_side import _SideBySide
    class Lane:
        ahead, busy, holds_gil = deque(), False, False
        def advance(self, stopped):
            hung.touch()
            while not stopped():
                time.sleep(0.02)
    _SideBySide(iter(["stride"]), [Lane()], None).go()
"""

SWEEP = """
    from queue import SimpleQueue
    from simalloc.sweep.local import _batches
    class Queue:
        def get(self, **options):
            hung.touch()
            return SimpleQueue().get(**options)
    list(_batches(Queue(), 1))
"""

SETTINGS = """
    from concurrent.futures import ThreadPoolExecutor
    from simalloc.measure.device.outcomes import _wait
    halt = threading.Event()
    def work():
        hung.touch()
        halt.wait()
    pool = ThreadPoolExecutor()
    try:
        _wait([pool.submit(work)], halt)
    finally:  # as its callers do: the signal may come before the wait
        halt.set()
        pool.shutdown()
    raise KeyboardInterrupt
"""

WORKS = {
    "side by side": SIDE_BY_SIDE,
    "settings of a device": SETTINGS,
    "sweep": SWEEP,
}


def heard(work, *arguments):
    """Return whether Ctrl-C ends hanging work, which reports its start, in a separate process."""
    code = UNHEARD.format(work=work)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        check=True,
        text=True,
        timeout=PATIENCE,
    )
    return done.stdout == "heard\n"


@pytest.mark.parametrize("work", WORKS)
def test_while_threads_work(work, tmp_path):
    assert heard(WORKS[work], tmp_path / "hung")


def test_while_a_real_allocator_works(shared_library, tmp_path):
    hung = tmp_path / "hung"
    assert heard(NATIVE, hung, shared_library(HANGING.format(hung=hung)))


BEFORE_MAIN = """
import sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
import simalloc.__main__
print(*sorted(set(sys.modules) - before))
"""


def test_nothing_is_imported_before_ctrl_c_is_reported():
    root = Path(__file__).parents[2]
    command = [sys.executable, "-S", "-I", "-c", BEFORE_MAIN, root]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["__future__", "simalloc", "simalloc.__main__"]


def test_ctrl_c_in_an_import_is_one_line():
    code = (
        "import sys, simalloc.__main__\n"
        "class Pressed:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'simalloc.cli': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Pressed())\n"
        "simalloc.__main__.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert done.returncode == 130
    assert done.stderr == "\nsimalloc: interrupted\n"


IN_FINALIZER = """
import signal, sys, time, simalloc.__main__, simalloc.cli

class Finalized:
    def __del__(self):
        signal.raise_signal({blow})

def command_line():
    from simalloc.cli.group import _terminable
    with _terminable():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        Finalized()
        while True:
            time.sleep(0.01)

simalloc.cli.main = command_line
simalloc.__main__.main()
"""


@pytest.mark.parametrize(("blow", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_a_finalizer_is_heard(blow, code):
    command = [sys.executable, "-c", IN_FINALIZER.format(blow=int(blow))]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=PATIENCE)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_ctrl_c_in_an_executed_text_has_the_exit_code(tmp_path):
    (tmp_path / "pressed.py").write_text(
        "import simalloc.__main__, simalloc.cli\n"
        "simalloc.cli.main = lambda: exec('raise KeyboardInterrupt')\n"
        "simalloc.__main__.main()\n"
    )
    command = [sys.executable, "-m", "pressed"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (130, "\nsimalloc: interrupted\n")
