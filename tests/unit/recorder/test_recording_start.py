"""Recordings that begin with blocks that were allocated earlier."""

import numpy as np
import pytest
from recorded import compile_program, read_all, run_recorded

from simalloc.errors import TraceError
from simalloc.report.at_start import start_sentence
from simalloc.trace import Op, read_trace
from simalloc.trace.recorder import RawRecording, Start, write_start
from simalloc.trace.recorder.convert import convert
from simalloc.trace.recorder.start import START_SUFFIX

FAR = 1 << 40
"""An address that the test program never uses."""


@pytest.fixture
def raw(tmp_path):
    """A recording without a start."""
    return run_recorded([compile_program("ends.c", tmp_path), "exit"], tmp_path / "raw").raw


def start_of(sizes):
    address = np.arange(len(sizes), dtype=np.int64) * 64 + FAR
    return Start.of(address, np.array(sizes, np.int64))


def test_the_blocks_come_first(raw):
    before = read_all(raw)
    write_start(raw.path, start_of([10, 0, 30]))
    after = read_all(RawRecording(raw.path))
    assert after.op[:3].tolist() == [Op.MALLOC] * 3
    assert after.size[:3].tolist() == [10, 0, 30]
    assert after.key[:3].tolist() == [0, 1, 2]
    assert after.op[3:].tolist() == before.op.tolist()
    assert after.columns["address"][3:].tolist() == before.columns["address"].tolist()


def test_more_blocks_than_a_chunk_has_events(raw, monkeypatch):
    monkeypatch.setattr("simalloc.trace.recorder.raw.CHUNK_EVENTS", 7)
    before = read_all(raw)
    write_start(raw.path, start_of(range(50)))
    after = read_all(RawRecording(raw.path))
    assert after.size[:50].tolist() == list(range(50))
    assert len(after) == len(before) + 50


def test_a_block_that_is_freed_is_known(raw):
    events = read_all(raw)
    freed = int(events.columns["address"][events.op == Op.FREE][0])
    write_start(raw.path, Start.of(np.array([freed], np.int64), np.array([24], np.int64)))
    again = RawRecording(raw.path)
    after = read_all(again)
    assert after.op[0] == Op.MALLOC
    assert 0 in after.key[after.op == Op.FREE]


def test_the_trace_says_what_was_live(raw, tmp_path):
    write_start(raw.path, start_of([4096, 8192]))
    target = tmp_path / "out.npz"
    convert(RawRecording(raw.path), target)
    trace = read_trace(target)
    start = trace.provenance["live_at_start"]
    assert start["objects"] == 2
    assert start["bytes"] == 12288
    assert start["peak_live_bytes"] >= 12288
    sentence = start_sentence(trace.provenance)
    assert sentence.startswith("2 blocks were live when the recording began (12 KiB, ")
    assert start_sentence({}) == ""
    assert "excludes them" in start_sentence({**trace.provenance, "every": 512})


@pytest.mark.parametrize("content", [b"", b"PK", b"\x93NUMPY and more"])
def test_a_damaged_start_is_an_error(raw, content):
    raw.path.with_suffix(START_SUFFIX).write_bytes(content)
    with pytest.raises(TraceError, match="damaged"):
        RawRecording(raw.path)


def test_a_start_with_impossible_blocks_is_an_error(raw):
    write_start(raw.path, Start(np.array([16], np.int64), np.array([-1], np.int64), 1, -1))
    with pytest.raises(TraceError, match="damaged"):
        RawRecording(raw.path)


def test_a_start_is_written_once(raw):
    write_start(raw.path, start_of([1]))
    with pytest.raises(FileExistsError):
        write_start(raw.path, start_of([1]))
