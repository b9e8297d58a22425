"""If a recording cannot continue, the program does, and the recording is complete up to then."""

import errno

import numpy as np
import pytest
from recorded import between_marks, compile_program, events_of, read_all, run_recorded, said_by
from small_disk import small_disk

from simalloc.trace import Op


@pytest.fixture
def full_soon(tmp_path):
    with small_disk(tmp_path / "small", 120) as folder:
        yield folder


def test_the_disk_fills_up(tmp_path, full_soon):
    program = compile_program("ends.c", tmp_path)
    run = run_recorded([program], full_soon)
    assert run.code == 0
    said = said_by(run.output)
    raw = run.raw
    recorded = events_of(read_all(raw))
    begin = next(i for i, event in enumerate(recorded) if event[2] == 1234567)
    assert recorded[begin + 1 :] == said[: len(recorded) - begin - 1]
    assert 1000 < len(recorded) < len(said)
    assert raw.counts.lost_reason == errno.ENOSPC
    assert raw.counts.read == raw.counts.records


def test_the_disk_is_full_from_the_beginning(tmp_path, full_soon):
    program = compile_program("ends.c", tmp_path)
    (full_soon / "full").write_bytes(bytes(116 << 10))
    run = run_recorded([program], full_soon)
    assert run.code == 0
    assert len(said_by(run.output)) > 5000
    assert run.raws == []
    assert "is not recorded: No space left on device" in run.errors


def test_the_size_of_files_is_limited(tmp_path):
    program = compile_program("threads.c", tmp_path)
    limited = f"ulimit -f 200; {program} 4 20000"  # a larger file would cause SIGXFSZ
    run = run_recorded(["bash", "-c", limited], tmp_path / "raw")
    assert run.code == 0
    raw = next(raw for raw in run.raws if raw.executable == str(program))
    events = read_all(raw)
    assert raw.counts.lost_reason == errno.EFBIG
    assert raw.counts.read <= raw.counts.records
    assert raw.counts.frees_unseen == 0
    accounts = [said_by(text) for text in run.output.split("thread\n")[1:]]
    workers = np.unique(events.columns["thread"])[1:]
    assert len(workers) > 0
    for worker in workers:
        beginning = [event for event in events_of(events, worker) if event[0] != "x"]
        assert any(account[: len(beginning)] == beginning for account in accounts)


def test_the_recording_can_be_stopped_while_the_program_runs(tmp_path):
    program = compile_program("ends.c", tmp_path)
    run = run_recorded([program], tmp_path / "raw")
    before = run.raw.counts.records
    run.raw.stop()
    assert run.raw.counts.lost_reason == 0
    assert run.raw.counts.records == before
    events = read_all(run.raw)
    assert between_marks(events_of(events)) == said_by(run.output)
    assert np.count_nonzero(events.op == Op.MALLOC) == 5001
