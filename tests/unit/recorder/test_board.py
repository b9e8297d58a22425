"""The recorder for boards, compiled for this machine, and its importer."""

import shutil
import subprocess

import numpy as np
import pytest
from command import simalloc
from recorded import PROGRAMS

from simalloc.errors import TraceError
from simalloc.trace import Op
from simalloc.trace.formats.board import FORMAT
from simalloc.trace.formats.importing import load_log
from simalloc.trace.recorder.board import FILES, FOLDER

STRICT = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow")
THREADS = "-DSIMALLOC_BOARD_THREAD()=({extern uintptr_t thread; thread;})"
TIMES = ("-DSIMALLOC_BOARD_TICKS=1000", "-DSIMALLOC_BOARD_TIME()=({extern uint32_t ticks; ticks;})")
BASE = 0x2000_0000


@pytest.fixture(scope="module")
def recorder(tmp_path_factory):
    """Return a function that records events on a recorder with some settings."""
    if shutil.which("cc") is None:
        pytest.skip("there is no cc")
    built = {}

    def record(events, *flags):
        if flags not in built:
            built[flags] = tmp_path_factory.mktemp("board") / "recorder"
            sources = [PROGRAMS / "board.c", FOLDER / "simalloc_board.c"]
            command = ["cc", "-std=gnu99", THREADS, *flags, f"-I{FOLDER}", "-o", built[flags]]
            subprocess.run([*command, *sources], check=True)
        text = "".join(f"{event}\n" for event in events)
        done = subprocess.run([built[flags]], input=text.encode(), capture_output=True, check=True)
        count, lost = map(int, done.stderr.split())
        return done.stdout, count, lost

    return record


@pytest.fixture
def load(tmp_path):
    def load(content, **options):
        (tmp_path / "log").write_bytes(content)
        return load_log(tmp_path / "log", **options)

    return load


def drawn(seed, events):
    """Return random events of a program, with drains between them."""
    rng = np.random.default_rng(seed)
    live, free, lines = [], list(range(400)), []
    for number in range(events):
        choice = rng.integers(10)
        if live and choice < 5:
            block = live.pop(rng.integers(len(live)))
            free.append(block)
            lines.append(f"f {BASE + block * 72}")
        else:
            block = free.pop(rng.integers(len(free)))
            live.append(block)
            lines.append(f"{rng.choice(['m', 'c'])} {BASE + block * 72} {rng.integers(3000)}")
        if number % 20 == 0:
            lines.append("d")
    return lines


def events_of(lines):
    return [line for line in lines if line != "d"]


def keys(lines):
    """Return the kinds and sizes of the lines' events in the trace's format."""
    ops = {"m": Op.MALLOC, "c": Op.CALLOC, "f": Op.FREE}
    parts = [line.split() for line in events_of(lines)]
    return [(ops[kind], int(rest[1]) if len(rest) > 1 else 0) for kind, *rest in parts]


def rows(trace):
    return list(zip(trace.op.tolist(), trace.size.tolist(), strict=True))


def test_the_source_is_strict_c99(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("there is no cc")
    hooks = ["MALLOC", "ESP_IDF", "LVGL", "MBEDTLS"]
    flags = [f"-DSIMALLOC_BOARD_{hook}" for hook in hooks]
    command = ["cc", *STRICT, *flags, "-DSIMALLOC_BOARD_SITES=1", "-c", FOLDER / FILES[1]]
    subprocess.run([*command, "-o", tmp_path / "board.o"], check=True)


@pytest.mark.parametrize("flags", [(), ("-DTEXT",), ("-DSIMALLOC_BOARD_BLOCK=5",), TIMES])
def test_what_is_recorded_is_imported(recorder, load, flags):
    lines = drawn(1, 1000)
    content, count, lost = recorder(lines, *flags)
    assert (count, lost) == (1000, 0)
    assert FORMAT.sniff(content)
    assert rows(load(content)) == keys(lines)


def test_an_event_takes_four_bytes(recorder):
    content, count, _ = recorder(drawn(2, 5000))
    assert len(content) / count < 5


def test_every_call_thread_time_and_caller(recorder, load):
    lines = [
        "t 536870944", "@ 4294967290", f"s {0x8001}", f"m {BASE} 24", f"l {BASE + 64} 32 100",
        "t 7", "@ 4", f"s {0x8101}", f"c {BASE + 256} 40", f"r {BASE} {BASE + 512} 48",
        f"r 0 {BASE + 800} 5", "m 0 70000", f"r {BASE + 64} 0 9999", "f 0", f"f {BASE + 64}",
        "x 7", "t 7", f"f {BASE + 512}",
    ]  # fmt: skip
    content, _, _ = recorder(lines, *TIMES, "-DSIMALLOC_BOARD_SITES=1")
    trace = load(content)
    m, c, r, f, x = Op.MALLOC, Op.CALLOC, Op.REALLOC, Op.FREE, Op.THREAD_END
    assert trace.op.tolist() == [m, m, c, r, m, f, x, f]
    assert trace.size.tolist() == [24, 100, 40, 48, 5, 0, 0, 0]
    assert trace.alignment.tolist() == [0, 32, 0, 0, 0, 0, 0, 0]
    assert trace.thread.tolist() == [0, 0, 1, 1, 1, 1, 1, 2]
    assert trace.time.tolist() == [0, 0] + [10_000_000] * 6
    assert trace.provenance["left_out"] == {"allocations that failed": 2}
    assert [place[0][0] for place in trace.provenance["stacks"]["places"][1:]] == [
        "0x8001",
        "0x8101",
    ]
    assert trace.site.tolist()[:3] == [1, 1, 2]


def test_events_that_found_no_room_are_counted(recorder, load):
    lines = [f"m {BASE + 64 * number} 8" for number in range(400)]
    lines.insert(300, "d")
    content, count, lost = recorder(lines, "-DSIMALLOC_BOARD_RING=256")
    assert count == 400
    assert lost > 100
    with pytest.raises(TraceError, match="events are missing after event"):
        load(content)
    trace = load(content, lenient=True)
    assert len(trace) == 400 - lost
    assert trace.provenance["left_out"]["lost events"] <= lost


def test_bytes_that_a_line_loses_cost_their_block_alone(recorder, load):
    lines = [f"m {BASE + 64 * number} 8" for number in range(1000)]
    content, _, _ = recorder([*lines[:500], "d", *lines[500:]], "-DSIMALLOC_BOARD_RING=4096")
    for cut, length in ((700, 1), (701, 3), (1500, 40)):
        damaged = content[:cut] + content[cut + length :]
        with pytest.raises(TraceError, match="64 events are missing"):
            load(damaged)
        trace = load(damaged, lenient=True)
        assert len(trace) == 1000 - 64
        assert trace.provenance["left_out"]["lost events"] == 64


def test_a_recording_may_begin_late_and_end_anywhere(recorder, load):
    lines = [f"m {BASE + 64 * number} 8" for number in range(1000)]
    content, _, _ = recorder(lines, "-DSIMALLOC_BOARD_RING=8192")
    late = content[600:]
    with pytest.raises(TraceError, match="begins after the board's start"):
        load(late, from_format="board")
    assert 700 < len(load(late, from_format="board", lenient=True)) < 1000
    assert 700 < len(load(content[:-600])) < 1000


def test_a_restart_is_told(recorder, load):
    content, _, _ = recorder([f"m {BASE} 8"])
    with pytest.raises(TraceError, match="the board restarted after 1 events"):
        load(content + content)
    assert len(load(content + content, lenient=True)) == 1


@pytest.mark.parametrize("hook", ["ESP_IDF", "ZEPHYR"])
def test_hooks_that_do_not_tell_reallocs_in_place_from_allocations(hook, load, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("there is no cc")
    sources = [PROGRAMS / "board_hooks.c", FOLDER / "simalloc_board.c"]
    flags = (*STRICT, "-std=c11", f"-DSIMALLOC_BOARD_{hook}", f"-I{FOLDER}", f"-I{PROGRAMS}")
    program = tmp_path / "hooks"
    subprocess.run(["cc", *flags, "-o", program, *sources], check=True)
    trace = load(subprocess.run([program], capture_output=True, check=True).stdout)
    m, f = Op.MALLOC, Op.FREE
    assert rows(trace) == [(m, 24), (m, 16), (Op.REALLOC, 32), (f, 0), (f, 0)]
    assert trace.object.tolist() == [0, 1, 0, 1, 0]


def test_other_bytes_are_no_recording(load):
    with pytest.raises(TraceError, match="contains no block"):
        load(b"nothing of the kind\n", from_format="board")


def test_the_command_copies_the_recorder(tmp_path):
    result = simalloc("board", str(tmp_path / "new"))
    assert result.stdout.split() == [str(tmp_path / "new" / name) for name in FILES]
    for name in FILES:
        assert (tmp_path / "new" / name).read_bytes() == (FOLDER / name).read_bytes()
