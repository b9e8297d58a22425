"""Recording a program in one call."""

import sys

import pytest

import simalloc
from simalloc.errors import SimallocError
from simalloc.trace.recorder import ProgramError

PROGRAM = [sys.executable, "-c", "import sys; sys.exit(len([bytes(9000) for _ in range(99)]) - 92)"]


def test_a_command_becomes_a_trace(tmp_path):
    kept = tmp_path / "kept.npz"
    trace = simalloc.record(PROGRAM, kept, sites=True)
    assert (trace.size == 9033).sum() >= 99
    assert trace.site is not None
    assert trace.provenance["command"] == PROGRAM
    assert trace.provenance["exit_code"] == 7
    assert simalloc.read_trace(kept).sha256() == trace.sha256()


def test_a_command_may_be_a_line_and_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trace = simalloc.record("ls -a '.'")
    assert trace.name == "ls"
    assert trace.provenance["command"] == ["ls", "-a", "."]
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_recorded_is_an_error():
    with pytest.raises(SimallocError, match="command to record is empty"):
        simalloc.record([])
    with pytest.raises(ProgramError, match="program not found"):
        simalloc.record("no-such-program-anywhere")
