"""Recording a running process."""

import os
import platform
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from process_programs import running
from stopping import require_stopping

from simalloc.heap import simulate
from simalloc.heap.start import Start
from simalloc.process import LiveProcess, ProcessError, load_snapshot, take_snapshot
from simalloc.process.attach.detach import detach
from simalloc.process.attach.load import LIBRARY, attach, check_unrecorded
from simalloc.process.attach.place import make_place
from simalloc.process.glibc.state import data_areas
from simalloc.trace import Op, read_trace
from simalloc.trace.recorder import ProgramError, RawRecording, Wanted, check_process, convert
from simalloc.trace.recorder.wanted import EVENTS

OWN = 64
"""Upper bound on the C library's own blocks for threads, streams and loaded libraries."""

DELETED_KEY = 1
"""Number of addresses of a deleted key's destructor, which the C library keeps but never calls."""


@pytest.fixture(scope="module", autouse=True)
def _may_trace():
    if platform.machine() != "x86_64":
        pytest.skip("processes are attached to on x86-64 only")
    require_stopping()


def asked(target):
    """Stop the program's threads and return its blocks: usable bytes by address."""
    target.child.stdin.write("stop\n")
    target.child.stdin.flush()
    blocks = {}
    for line in target.child.stdout:
        word, *rest = line.split()
        if word == "ready":
            return blocks
        blocks[int(rest[0], 16)] = int(rest[1])
    raise AssertionError("the program has ended")


def live_in(raw):
    """Return the blocks that are live at a recording's end: requested bytes by address."""
    live = {}
    for chunk in raw.chunks():
        columns = (chunk.op, chunk.key, chunk.columns["address"], chunk.size)
        for op, key, address, size in zip(*(one.tolist() for one in columns), strict=True):
            if op == Op.FREE:
                del live[key]
            elif op != Op.THREAD_END:
                live[key] = (address, size)
    return dict(live.values())


@contextmanager
def attached(target, folder, wanted=EVENTS):
    """Attach to a program while the block runs."""
    process = LiveProcess(target.process)
    place = make_place(process, folder / "out.npz")
    begun = attach(process, place, wanted)
    try:
        yield begun
    finally:
        detach(target.process)


def recorders(process):
    """Return the mapping of the recorder's library, one range for each copy."""
    mappings = [one for one in LiveProcess(process).mappings() if LIBRARY in one.path]
    return {
        path: (
            min(one.start for one in mappings if one.path == path),
            max(one.end for one in mappings if one.path == path),
        )
        for path in {one.path for one in mappings}
    }


def open_files(process):
    """Return the number of descriptors that a process has open."""
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def entries_into(process, start, end):
    """Count words in the data of the program and its C library that point into a range."""
    target = LiveProcess(process)
    mappings = target.mappings()
    protected = [one for one in mappings if one.inode and one.permissions == "r--p" and one.offset]
    ranges = [(path, first, last) for path, first, last in data_areas(mappings)]
    ranges += [(one.path, one.start, one.end) for one in protected]
    count = 0
    for path, first, last in ranges:
        if LIBRARY not in path and "ld-linux" not in path:
            words = target.region(first, last).words
            count += int(((words >= start) & (words < end)).sum())
    return count


@pytest.mark.parametrize("wanted", [EVENTS, Wanted(times=True, depth=8)])
def test_the_live_set_is_what_the_program_knows(compiled, tmp_path, wanted):
    with running(compiled("attached")) as target:
        for _ in range(3):
            with attached(target, tmp_path, wanted) as begun:
                time.sleep(0.2)
                known = asked(target)
            target.ask("go")
            raw = RawRecording(begun.raw)
            live = live_in(raw)
            assert known.keys() <= live.keys()
            assert all(live[address] <= usable for address, usable in known.items())
            assert len(live) - len(known) < OWN
            counts = raw.counts
            assert counts.records > 1000
            assert counts.read == counts.records
            assert counts.frees_of_unknown == 0
            assert counts.reallocs_of_unknown == 0
            assert counts.frees_unseen == 0


def test_the_trace_begins_with_the_live_blocks_by_address(compiled, tmp_path):
    with running(compiled("attached")) as target:
        known = asked(target)
        with attached(target, tmp_path) as begun:
            target.ask("go")
            time.sleep(0.05)
    raw = RawRecording(begun.raw)
    chunk = next(raw.chunks())
    first = chunk.columns["address"][: begun.start.objects]
    assert (chunk.op[: begun.start.objects] == Op.MALLOC).all()
    assert (np.diff(first) > 0).all()
    sizes = dict(zip(first.tolist(), chunk.size.tolist(), strict=False))
    assert known.items() <= sizes.items()
    assert begun.start.bytes == int(chunk.size[: begun.start.objects].sum())


def test_a_model_goes_on_from_the_heap_at_the_start_as_the_process_does(compiled, tmp_path):
    found = platform.libc_ver()[1]
    if found not in {"2.36", "2.41", "2.43", "2.44"}:
        pytest.skip(f"no model of glibc {found}")
    with running(compiled("continued"), "4") as target, attached(target, tmp_path) as begun:
        target.child.stdin.write("\n")
        target.child.stdin.flush()
        assert "done\n" in target.child.stdout
        after = take_snapshot(LiveProcess(target.process))
    recorded = convert(RawRecording(begun.raw), tmp_path / "out.npz")
    assert recorded.heap == tmp_path / "out.heap.npz"
    start = Start.of(load_snapshot(recorded.heap))
    trace = start.before(read_trace(recorded.path))
    assert set(np.unique(trace.thread)) == {0, 1, 2, 3}
    run = simulate(trace, f"ptmalloc:version={found}", start=start, resident=True)
    assert run.mapped.final_bytes == sum(part.bytes for part in after.parts)
    assert run.resident.final_bytes == sum(part.resident for part in after.parts)


def test_threads_that_only_yield_do_not_delay_the_end_of_a_recording(compiled, tmp_path):
    with running(compiled("yielding")) as target:
        for _ in range(3):
            with attached(target, tmp_path):
                pass
            check_unrecorded(LiveProcess(target.process))


def test_a_library_that_is_loaded_later_is_recorded(compiled, tmp_path):
    plugin = compiled("plugged", "-shared")
    with running(compiled("attached")) as target:
        with attached(target, tmp_path) as begun:
            assert target.ask(f"load {plugin}") == ["loaded"]
        assert target.ask(f"load {plugin}") == ["loaded"]
    sizes = np.concatenate([chunk.size for chunk in RawRecording(begun.raw).chunks()])
    assert (sizes == 54321).sum() == 1


def test_nothing_but_an_idle_library_is_left(compiled, tmp_path):
    with running(compiled("attached")) as target:
        descriptors = open_files(target.process)
        for _ in range(8):
            with attached(target, tmp_path):
                ((path, library),) = recorders(target.process).items()
                assert entries_into(target.process, *library) > 4
            asked(target)
            assert recorders(target.process) == {path: library}
            assert entries_into(target.process, *library) <= DELETED_KEY
            target.ask("go")
        assert open_files(target.process) == descriptors
        names = [one.name for one in LiveProcess(target.process).mappings()]
        assert not any(".raw" in name for name in names)
        assert sum(LIBRARY in path.name for path in tmp_path.rglob("*")) == 0


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("", EVENTS),
        ("", Wanted(times=True, depth=8)),
        ("signals", EVENTS),
        ("signals", Wanted(every=64 << 10)),
        ("alone", Wanted(times=True, depth=8)),
        ("vfork", EVENTS),
    ],
    ids=str,
)
def test_a_program_that_never_stops_survives_its_recordings(compiled, tmp_path, mode, wanted):
    with running(compiled("busy"), mode) as target:
        for pause in (0, 0.01, 0, 0.1) * (1 if mode == "vfork" else 2):
            with attached(target, tmp_path, wanted):
                time.sleep(pause)
            assert mode == "alone" or target.ask("are you") == ["alive"]
        assert target.child.poll() is None
        target.child.kill()


def test_a_thread_that_waits_in_the_kernel_is_not_kept(compiled, tmp_path):
    with running(compiled("busy"), "vfork", "900000") as target:
        tasks = Path(f"/proc/{target.process}/task")
        while not any(" D " in (one / "stat").read_text() for one in tasks.iterdir()):
            time.sleep(0.001)
        with attached(target, tmp_path):
            for one in tasks.iterdir():
                assert "\nTracerPid:\t0\n" in (one / "status").read_text()
        target.child.kill()


def test_registers_and_errno_are_as_before(compiled, tmp_path):
    with running(compiled("steady")) as target:
        for _ in range(5):
            with attached(target, tmp_path):
                pass
        time.sleep(0.1)
        assert target.child.poll() is None
        target.child.kill()


def test_a_sample_has_the_totals_of_the_live_blocks_alone(compiled, tmp_path):
    with (
        running(compiled("attached")) as target,
        attached(target, tmp_path, Wanted(every=4096)) as begun,
    ):
        time.sleep(0.1)
    raw = RawRecording(begun.raw)
    assert raw.start.objects == begun.start.objects > 0
    assert len(raw.start.address) == 0
    assert raw.every == 4096
    assert raw.counts.frees_of_unknown == 0


def test_forked_children_and_the_end_of_the_process_are_no_trouble(tmp_path):
    script = "while :; do x=$(echo child); done"
    with subprocess.Popen(["bash", "-c", script]) as child:
        target = type("Target", (), {"process": child.pid})
        time.sleep(0.2)
        with attached(target, tmp_path) as begun:
            time.sleep(0.3)
            child.kill()
            child.wait()
        raw = RawRecording(begun.raw)
        assert live_in(raw)
        assert raw.counts.frees_of_unknown == 0
        assert [path.name for path in begun.raw.parent.glob("*.raw")] == [begun.raw.name]


def test_a_process_is_recorded_once_at_a_time(compiled, tmp_path):
    with running(compiled("attached")) as target:
        with attached(target, tmp_path), pytest.raises(ProcessError, match="already recorded"):
            check_unrecorded(LiveProcess(target.process))
        check_unrecorded(LiveProcess(target.process))


def test_a_static_program_is_refused(compiled):
    with (
        running(compiled("attached", "-static")) as target,
        pytest.raises(ProgramError, match=f"process {target.process} .*linked statically"),
    ):
        check_process(target.process)


def test_a_process_that_has_ended_is_left_alone():
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    detach(child.pid)


def test_a_stopped_process_stays_stopped(compiled, tmp_path):
    with running(compiled("attached")) as target:
        os.kill(target.process, signal.SIGSTOP)
        with attached(target, tmp_path):
            pass
        time.sleep(0.1)
        status = (LiveProcess(target.process)._status())["State"]
        os.kill(target.process, signal.SIGCONT)
        assert status.startswith(("T", "t"))
        assert asked(target)
        target.ask("go")
