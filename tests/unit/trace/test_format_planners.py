"""Logs of device allocators and static planners: rmm, TensorFlow Lite Micro, XLA."""

import numpy as np
import pytest

from simalloc.errors import TraceError
from simalloc.trace import Op
from simalloc.trace.formats.importing import load_log

M, F = Op.MALLOC, Op.FREE

RMM = """\
Thread,Time,Action,Pointer,Size,Stream
1979932,23:59:59.998533,allocate,0x30a000000,256,0x2
1979932,23:59:59.999100,allocate,0x30a000100,1048576,0x2
1979933,23:59:59.999200,allocate failure,,99999999999,0x2
1979933,00:00:00.200000,allocate,0x30b000000,4096,0
1979932,00:00:01.000000,free,0x30a000100,1048576,0x2
1980043,00:00:01.661875,free,0x30a000000,256,0x2
1979933,00:00:02.000000,free,0x30b000000,4096,0
"""

BUFFER = (
    "Planner buffer ID: {}, calculated offset: {}, size required: {}, first_time_created: {}, "
    "last_time_used: {}\n"
)
PLAN = (
    "Booting\n"
    + BUFFER.format(0, 0, 100, 0, 1)
    + BUFFER.format(1, 100, 40, 1, 2)
    + "0: 0000000000......\n"
    + BUFFER.format(2, 0, 60, 2, 2)
)

ASSIGNMENT = """\
BufferAssignment:
allocation 0: size 16, parameter 0, shape |f32[4]| at ShapeIndex {}:
 value: <0 paramA @0> (size=16,offset=0): f32[4]{0}
allocation 1: size 4, constant:
 value: <1 one @0> (size=4,offset=0): f32[]
allocation 2: size 48, preallocated-temp:
 value: <2 sum @0> (size=16,offset=0): f32[4]{0}
 value: <3 next @0> (size=16,offset=0): f32[4]{0}
 value: <4 pair{1} @0> (size=32,offset=16): f32[8]{0}

Total bytes used: 68 (68B)

Used values:
<0 paramA @0>
"""
RANGES = """\
HloLiveRange (max 3):
  InstructionSequence:
    0:paramA
    1:sum
  BufferLiveRange:
    paramA{}:0-3
    sum{}:1-2
    next{}:2-3
    pair{1}:3-3
  Live ranges at 2 (peak):
    sum{}: 16 bytes
"""


def peak(trace):
    """Return the peak live bytes of a trace of mallocs and frees."""
    size = trace.size[trace.op == M][trace.object]
    return int(np.cumsum(np.where(trace.op == M, size, -size)).max())


@pytest.fixture
def load(tmp_path):
    def load_text(text, name="log", **options):
        (tmp_path / name).write_text(text)
        return load_log(tmp_path / name, **options)

    return load_text


def test_rmm_keeps_threads_times_and_streams(load):
    trace = load(RMM)
    assert trace.provenance["format"] == "rmm"
    assert trace.is_of_device
    assert trace.op.tolist() == [M, M, M, F, F, F]
    assert trace.object.tolist() == [0, 1, 2, 1, 0, 2]
    assert trace.size.tolist() == [256, 1 << 20, 4096, 0, 0, 0]
    assert trace.stream.tolist() == [0, 0, 1, 0, 0, 1]
    assert trace.provenance["left_out"] == {"allocations that failed": 1}
    micros = [0, 567, 201_467, 1_001_467, 1_663_342, 2_001_467]
    assert trace.time.tolist() == [1000 * each for each in micros]
    assert len(set(trace.thread.tolist())) == 3


def test_rmm_without_heading_and_with_the_old_mark(load):
    trace = load("7,14:21:19:000005,allocate,0x10,8,0x0\n7,14:21:19:000007,free,0x10,8,0x0\n")
    assert trace.time.tolist() == [0, 2000]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1,14:61:00.000000,allocate,0x10,8,0\n", "not a time of day"),
        ("1,14:21:00.000000,resize,0x10,8,0\n", "does not match the format"),
    ],
)
def test_rmm_mistakes_are_named_and_can_be_skipped(load, line, reason):
    text = RMM.splitlines(keepends=True)[0] + line
    with pytest.raises(TraceError, match=reason):
        load(text)
    assert len(load(text, lenient=True)) == 0


def test_tflite_micro_lives_include_the_last_step(load):
    trace = load(PLAN)
    assert trace.provenance["format"] == "tflite-micro"
    assert trace.op.tolist() == [M, M, F, M, F, F]
    assert sorted(trace.size[trace.op == M].tolist()) == [40, 60, 100]
    assert peak(trace) == 140


def test_tflite_micro_plans_follow_each_other(load):
    trace = load(PLAN + PLAN)
    assert len(trace) == 12
    assert peak(trace) == 140


def test_tflite_micro_mistakes(load):
    backwards = BUFFER.format(3, 0, 60, 5, 2)
    with pytest.raises(TraceError, match="before it is created"):
        load(PLAN + backwards)
    with pytest.raises(TraceError, match="does not have the form in which TensorFlow"):
        load(PLAN + "Planner buffer ID: 3, calc\n")
    assert len(load(PLAN + backwards, lenient=True)) == 6


def test_xla_joins_both_files_and_shared_places(load, tmp_path):
    (tmp_path / "m.cpu-live-range.txt").write_text(RANGES)
    trace = load(ASSIGNMENT, "m.cpu-buffer-assignment.txt")
    assert trace.provenance["format"] == "xla"
    assert list(trace.provenance["left_out"].values()) == [1]
    assert trace.op.tolist() == [M, M, M, F, F, F]
    assert trace.size[:3].tolist() == [16, 16, 32]
    assert peak(trace) == 64


def test_xla_ranges_may_follow_in_one_file(load):
    assert len(load(ASSIGNMENT + RANGES)) == 6


def test_xla_without_ranges_says_what_is_missing(load, tmp_path):
    with pytest.raises(TraceError, match="live ranges"):
        load(ASSIGNMENT)
    with pytest.raises(TraceError, match=r"m-live-range\.txt is missing"):
        load(ASSIGNMENT, "m-buffer-assignment.txt")
    (tmp_path / "m-live-range.txt").write_text("nothing\n")
    with pytest.raises(TraceError, match="BufferLiveRange"):
        load(ASSIGNMENT, "m-buffer-assignment.txt")


def test_xla_ranges_of_another_program_are_an_error(load, tmp_path):
    (tmp_path / "m-live-range.txt").write_text("  BufferLiveRange:\n    other{}:0-3\n")
    with pytest.raises(TraceError, match="the same program"):
        load(ASSIGNMENT, "m-buffer-assignment.txt")
