"""The recording of a program is compared with the program's own account."""

import shutil
import signal
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from recorded import (
    assert_nothing_missing,
    between_marks,
    compile_program,
    events_of,
    read_all,
    run_recorded,
    said_by,
)

import simalloc
from simalloc.report.mappings import mappings_table
from simalloc.trace import Op, read_trace
from simalloc.trace.events import begins
from simalloc.trace.recorder import Wanted, convert, reason_of
from simalloc.trace.recorder.built_in import FREE_THREADED
from simalloc.trace.recorder.resident import MAX_SAMPLES, Sample, Samples


def test_every_function_and_its_corner_cases(tmp_path):
    program = compile_program("corners.c", tmp_path, "-Wno-unused-result")
    run = run_recorded([program], tmp_path / "raw")
    assert run.code == 0
    said = said_by(run.output)
    assert {event[0] for event in said} == {"m", "c", "f", "r"}
    assert between_marks(events_of(read_all(run.raw))) == said
    assert_nothing_missing(run.raw)
    assert run.raw.counts.reallocs_failed == 1


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("return", 0),
        ("_exit", 7),
        ("segv", -signal.SIGSEGV),
        ("abort", -signal.SIGABRT),
        ("kill", -signal.SIGKILL),
        ("exec", 0),
    ],
)
def test_nothing_is_lost_however_the_program_ends(tmp_path, how, code):
    program = compile_program("ends.c", tmp_path)
    run = run_recorded([program, how], tmp_path / "raw")
    assert run.code == code
    output = run.output.removesuffix("done\n")
    assert between_marks(events_of(read_all(run.raws[0]))) == said_by(output)
    assert_nothing_missing(run.raws[0])
    assert len(run.raws) == (2 if how == "exec" else 1)


def test_a_program_that_execs_is_recorded_twice_under_one_number(tmp_path):
    program = compile_program("ends.c", tmp_path)
    run = run_recorded([program, "exec"], tmp_path / "raw")
    first, second = run.raws
    assert first.process == second.process
    assert first.command == [str(program), "exec"]
    assert second.command == ["echo", "done"]
    assert second.executable.endswith("/echo")


@pytest.mark.parametrize(("threads", "gap"), [(16, False), (4, True)])
def test_threads_are_recorded_in_one_order(tmp_path, monkeypatch, threads, gap):
    program = compile_program("threads.c", tmp_path)
    if gap:
        library = compile_program("gap.c", tmp_path, "-shared", "-fPIC")
        monkeypatch.setenv("LD_PRELOAD", str(library))
        # A block that one thread has freed is the next block that any thread allocates.
        monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1")
    run = run_recorded([program, str(threads), "6000"], tmp_path / "raw")
    events = read_all(run.raw)
    accounts = [said_by(text) for text in run.output.split("thread\n")[1:]]
    recorded = {number: events_of(events, number) for number in np.unique(events.columns["thread"])}
    assert len(accounts) == threads
    for account in accounts:
        ended = [*account, ("x", 0, 0, 0)]
        number = next(n for n, of_thread in recorded.items() if of_thread == ended)
        del recorded[number]
    assert len(recorded) == 1  # events of the first thread
    # No free is unknown and none was missed: no address is allocated twice at the same time.
    assert_nothing_missing(run.raw)


def test_many_short_threads_share_their_streams(tmp_path):
    program = compile_program("mayflies.c", tmp_path)
    run = run_recorded([program], tmp_path / "raw")
    events = read_all(run.raw)
    assert np.count_nonzero(events.size == 77) == 3000
    assert np.count_nonzero(events.size == 78) == 3000
    thread = events.columns["thread"]
    ended = thread[events.op == Op.THREAD_END]
    assert len(ended) == len(np.unique(ended)) == len(np.unique(thread)) - 1 == 3000
    assert_nothing_missing(run.raw)
    assert run.raw.path.stat().st_size < 500_000


def test_a_thread_ends_after_its_destructors(tmp_path):
    run = run_recorded([compile_program("farewell.c", tmp_path)], tmp_path / "raw")
    assert run.code == 0
    events = read_all(run.raw)
    ended = np.flatnonzero(events.op == Op.THREAD_END)
    assert len(ended) == 3
    for end in ended:
        (of_thread,) = np.nonzero(events.columns["thread"] == events.columns["thread"][end])
        assert of_thread[-1] == end
        assert np.count_nonzero(events.size[of_thread] == 99) == 3
    assert_nothing_missing(run.raw)


def test_samples_of_memory_are_bounded_and_keep_the_peak():
    samples = Samples()
    resident = [100, *range(5 * MAX_SAMPLES), 9999999, 7]
    for event, size in enumerate(resident):
        samples.add(Sample(event, event, size, size))
    kept = samples.kept()
    assert MAX_SAMPLES / 4 < len(kept) <= MAX_SAMPLES
    assert max(sample.resident for sample in kept) == 9999999
    assert [sample.time for sample in kept] == sorted(sample.time for sample in kept)


def test_killed_while_threads_allocate(tmp_path):
    program = compile_program("endless.c", tmp_path)
    shared = tmp_path / "done"
    shared.write_bytes(bytes(32))
    run = run_recorded([program, shared], tmp_path / "raw")
    assert run.code == -signal.SIGKILL
    raw = run.raw
    events = read_all(raw)
    done = np.sort(np.fromfile(shared, np.int64))
    assert done[0] >= 10_000
    # A round is one realloc, or one malloc after a free.
    made = np.bincount(events.columns["thread"][events.op != Op.FREE])
    beyond = np.sort(made[1:]) - done
    assert len(beyond) == len(done)
    assert np.all((beyond == 0) | (beyond == 1))
    assert raw.counts.frees_unseen == 0
    assert raw.counts.frees_of_unknown == 0
    assert raw.counts.records - raw.counts.read <= len(done)


def test_each_process_has_a_recording_however_it_was_forked(tmp_path):
    program = compile_program("family.c", tmp_path)
    run = run_recorded([program], tmp_path / "raw")
    assert run.code == 0
    sizes = []
    for raw in run.raws:
        if raw.executable != str(program):
            continue
        last = read_all(raw)
        mallocs = last.size[begins(last.op)]
        sizes.append(int(mallocs[-1]))
        is_parent = sizes[-1] == 1006
        assert raw.counts.frees_of_unknown == (0 if is_parent else 1)
        assert raw.counts.frees_unseen == 0
        assert len(mallocs) == (4 if is_parent else 1)
    assert sorted(sizes) == [1001, 1002, 1003, 1004, 1005, 1006]
    shells = [raw for raw in run.raws if raw.command == ["sh", "-c", "exit 0"]]
    assert len(shells) == 1


def test_signal_handlers_that_allocate(tmp_path, monkeypatch):
    program = compile_program("interrupted.c", tmp_path)
    library = compile_program("bump.c", tmp_path, "-shared", "-fPIC")
    monkeypatch.setenv("LD_PRELOAD", str(library))
    run = run_recorded([program], tmp_path / "raw")
    assert run.code == 0
    rounds, handled = map(int, run.output.split())
    assert handled > 0
    events = read_all(run.raw)
    assert_nothing_missing(run.raw)
    of_handler = events.size == 333
    assert np.count_nonzero(of_handler & (events.op == Op.MALLOC)) == handled
    assert np.count_nonzero(of_handler & (events.op == Op.REALLOC)) == handled
    assert np.count_nonzero(events.size == 16) == rounds


def test_addresses_that_are_no_multiples_of_16(tmp_path, monkeypatch):
    program = compile_program("ends.c", tmp_path)
    library = compile_program("bump.c", tmp_path, "-shared", "-fPIC")
    monkeypatch.setenv("LD_PRELOAD", str(library))
    run = run_recorded([program], tmp_path / "raw")
    said = said_by(run.output)
    assert any(address % 16 for _, address, _, _ in said)
    assert between_marks(events_of(read_all(run.raw))) == said


def test_a_library_loaded_at_run_time(tmp_path):
    program = compile_program("loads.c", tmp_path)
    library = compile_program("plugin.c", tmp_path, "-shared", "-fPIC")
    run = run_recorded([program, library], tmp_path / "raw")
    assert run.code == 0
    events = events_of(read_all(run.raw))
    (early,) = [event for event in events if event[2] == 4321]
    (late,) = [event for event in events if event[2] == 4322]
    assert ("f", early[1], 0, 0) in events
    assert ("f", late[1], 0, 0) in events
    assert_nothing_missing(run.raw)


def test_every_form_of_new_and_delete(tmp_path):
    program = compile_program("objects.cc", tmp_path, "-std=c++17")
    run = run_recorded([program], tmp_path / "raw")
    assert run.output == "5801\n"
    asked = {
        (size, alignment) for op, _, size, alignment in events_of(read_all(run.raw)) if op == "m"
    }
    assert {(4, 0), (1777, 0), (384, 128), (16, 0), (4 * 2345, 0), (3457, 0)} <= asked
    assert_nothing_missing(run.raw)


def test_a_program_that_closes_files_and_gives_up_its_rights(tmp_path):
    program = compile_program("untidy.c", tmp_path)
    with TemporaryDirectory() as directory:  # a folder that any user may enter
        run = run_recorded([program], Path(directory))
        assert run.code == 0, run.errors
        events = read_all(run.raw)
    assert np.count_nonzero(events.op == Op.MALLOC) >= 300_000
    assert_nothing_missing(run.raw)


def place_of(raw, site):
    """Return the place of a site's innermost call."""
    return raw.places[raw.sites[site][1]]


def test_times_and_sites(tmp_path):
    program = compile_program("ends.c", tmp_path, "-no-pie")
    run = run_recorded([program], tmp_path / "raw", Wanted(times=True, depth=1))
    events = read_all(run.raw)
    assert np.all(np.diff(events.columns["time"]) >= 0)
    assert 0 < events.columns["time"][-1] < 60e9
    used = {place_of(run.raw, number) for number in np.unique(events.columns["site"]) if number}
    assert np.all(events.columns["site"][events.op == Op.FREE] == 0), "of frees there are no sites"
    symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    (main,) = [
        int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" T main")
    ]
    offsets = [place.offset for place in used if place.path == str(program)]
    assert len(offsets) == 2  # the marking block and the malloc
    assert all(main < offset < main + 1000 for offset in offsets)


def test_sites_look_through_operator_new(tmp_path):
    program = compile_program("objects.cc", tmp_path, "-std=c++17")
    run = run_recorded([program], tmp_path / "raw", Wanted(depth=1))
    events = read_all(run.raw)
    (number,) = events.columns["site"][(events.size == 1777)].tolist()
    assert place_of(run.raw, number).path == str(program)


def test_a_thread_does_nothing_after_its_end(tmp_path):
    program = compile_program("crowd.c", tmp_path)
    run = run_recorded([program], tmp_path / "raw")
    events = read_all(run.raw)
    assert set(events.columns["thread"].tolist()) == set(range(17)), "no thread is another's ghost"
    for thread in range(1, 17):
        (own,) = np.nonzero(events.columns["thread"] == thread)
        assert np.flatnonzero(events.op[own] == Op.THREAD_END).tolist() == [len(own) - 1]
    freed_at_the_end = np.count_nonzero(events.op[events.columns["thread"] > 0] == Op.FREE)
    assert freed_at_the_end > 16, "glibc has freed what it kept of threads"
    assert_nothing_missing(run.raw)


def test_memory_is_looked_at_whenever_live_bytes_have_a_peak(tmp_path):
    program = compile_program("peaks.c", tmp_path)
    run = run_recorded([program], tmp_path / "raw")
    events = read_all(run.raw)
    looks = run.raw.looks
    before_frees = np.count_nonzero(events.op == Op.MALLOC)
    assert np.all(np.diff(looks[:, :2].astype(np.int64), axis=0) > 0)
    assert 50 <= len(looks) <= 64 + 10
    assert looks[-1, 0] == len(events.op), "the last is at the program's end"
    assert looks[-2, 0] == before_frees, "the one before is at the highest peak"
    assert 60e6 < looks[-2, 2] <= looks[-2, 3]
    assert looks[len(looks) // 2, 2] < 40e6
    convert(run.raw, tmp_path / "out.npz")
    resident = read_trace(tmp_path / "out.npz").provenance["resident"]
    assert resident[-1] == looks[-1].tolist()
    assert_nothing_missing(run.raw)


@pytest.mark.parametrize(("how", "left"), [("return", 19), ("_exit", 0)])
def test_what_is_never_written_of_large_blocks(tmp_path, monkeypatch, how, left):
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=1000000")
    program = compile_program("buffers.c", tmp_path)
    run = run_recorded([program, how], tmp_path / "raw")
    convert(run.raw, tmp_path / "out.npz")
    trace = read_trace(tmp_path / "out.npz")
    asked = np.flatnonzero(trace.size >= 20 << 20)
    assert (trace.size[asked] % 10).tolist() == [1, 2, 3, 4, 5, 6, 7]
    unwritten = np.round(trace.unwritten[asked] / (1 << 20)).astype(int).tolist()
    assert unwritten == [20, 0, 15, 20, 18, 10, left]
    assert np.count_nonzero(trace.unwritten) == np.count_nonzero(unwritten)


def test_what_a_killed_program_never_wrote(tmp_path):
    """The library cannot examine memory at the end, so simalloc examined it from outside."""
    trace = simalloc.record([compile_program("killed.c", tmp_path), "1500"])
    (large,) = np.flatnonzero(trace.size == 20 << 20)
    (middle,) = np.flatnonzero(trace.size == 40 << 10)
    assert trace.unwritten[large] == pytest.approx(12 << 20, abs=8 << 10)
    assert 7 <= trace.unwritten[middle] // 4096 <= 9
    assert 0.19 <= trace.provenance["cpu_seconds"] < 1


@pytest.mark.parametrize(("then", "unwritten"), [("reads", 20), ("writes", 0)])
def test_what_a_program_touches_only_at_its_end(tmp_path, then, unwritten):
    """Pages that are read are mapped like written pages, but need no memory of the process."""
    trace = simalloc.record([compile_program("late.c", tmp_path), then, "3000"])
    (large,) = np.flatnonzero(trace.size == 20 << 20)
    found = 0 if trace.unwritten is None else int(trace.unwritten[large])
    assert found == pytest.approx(unwritten << 20, abs=1 << 20)


def test_what_a_program_maps_by_itself(tmp_path):
    trace = simalloc.record([compile_program("maps.c", tmp_path)])
    rows = {row["function"]: row for row in trace.provenance["mappings"]}
    pool, larger = rows["pool_of"], rows["larger"]
    assert (pool["calls"], pool["peak_mapped_bytes"]) == (2, 16 << 20)
    assert (pool["final_mapped_bytes"], larger["final_mapped_bytes"]) == (12 << 20, 2 << 20)
    assert (pool["final_resident_bytes"], larger["final_resident_bytes"]) == (5 << 20, 2 << 20)
    assert pool["file"] == str(tmp_path / "maps")
    assert "pool_of" in str(mappings_table(trace.provenance))


def test_a_block_that_is_written_again_has_no_unwritten_pages(tmp_path, monkeypatch):
    """Pages that an earlier block wrote are resident, so this block seems to have written them."""
    tunables = "glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=100000000"
    monkeypatch.setenv("GLIBC_TUNABLES", tunables)
    program = compile_program("buffers.c", tmp_path)
    convert(run_recorded([program], tmp_path / "raw").raw, tmp_path / "out.npz")
    trace = read_trace(tmp_path / "out.npz")
    (third,) = np.flatnonzero(trace.size % (1 << 20) == 3)
    assert trace.unwritten[third] == 0


def test_programs_are_recorded_whatever_environment_they_are_given(tmp_path):
    program = compile_program("becomes.c", tmp_path)
    run = run_recorded([program], tmp_path / "raw")
    assert run.code == 0
    started = [raw for raw in run.raws if raw.command == ["true", "an argument"]]
    assert len(started) == 11


def test_a_free_threaded_python_behind_a_shell_keeps_its_own_allocator(tmp_path):
    """Every other program that it or the shell starts receives PYTHONMALLOC."""
    python = compile_program("python3.13t.c", tmp_path, "-rdynamic")
    say = 'test -n "$PYTHONMALLOC" && echo $PYTHONMALLOC'
    script = f"{say}; {python} && exec env -i {python} {shutil.which('sh')} -c '{say}'"
    run = run_recorded(["sh", "-c", script], tmp_path / "raw", Wanted(python=True))
    assert (run.code, run.output, run.errors) == (0, "malloc\nmalloc\n", "")
    pythons = [raw for raw in run.raws if raw.executable == str(python)]
    assert [1234567 in read_all(raw).size for raw in pythons] == [True, True]
    traces = [tmp_path / f"{number}.npz" for number in range(2)]
    for raw, path in zip(pythons, traces, strict=True):
        assert convert(raw, path).built_in == FREE_THREADED
        assert read_trace(path).provenance["built_in"] == FREE_THREADED


def test_a_free_threaded_python_that_a_program_loads(tmp_path):
    program = compile_program("embeds.c", tmp_path)
    library = compile_program("libpython3.13t.c", tmp_path, "-shared", "-fPIC")
    library = library.rename(tmp_path / "libpython3.13t.so.1.0")
    run = run_recorded([program, library], tmp_path / "raw")
    assert run.code == 0
    assert convert(run.raw, tmp_path / "trace.npz").built_in == FREE_THREADED


@pytest.mark.parametrize("how", ["prctl", "syscall", "strict"])
def test_a_program_that_locks_itself_in_goes_on_unrecorded(tmp_path, how):
    program = compile_program("locks.c", tmp_path)
    wanted = Wanted(times=True, depth=32)
    run = run_recorded([program, how], tmp_path / "raw", wanted)
    assert run.code == 7, run.errors
    assert "seccomp" in reason_of(run.raw.counts.lost_reason)
    sizes = read_all(run.raw).size
    assert np.count_nonzero((sizes >= 71) & (sizes < 76)) == 1000
    assert np.count_nonzero((sizes >= 81) & (sizes < 86)) == 0
