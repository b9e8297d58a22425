"""The trace of any length, the benchmark that streams it, and the one that reads traces."""

import json

import numpy as np
from click.testing import CliRunner

from benchmarks import reading, stream, turnover
from simalloc.trace import Op, read_trace


def test_the_live_objects_stay_as_many(tmp_path, monkeypatch):
    monkeypatch.setattr(turnover, "RUN", 64)
    seen = []
    turnover.write_turnover(tmp_path / "t.npz", 1000, 200, seen.append)
    trace = read_trace(tmp_path / "t.npz")
    assert len(trace) == seen[-1] == 1000
    live = np.cumsum(np.where(trace.op == Op.MALLOC, 1, -1))
    assert set(live[199:].tolist()) == {199, 200}
    turnover.write_turnover(tmp_path / "again.npz", 1000, 200)
    assert trace.sha256() == read_trace(tmp_path / "again.npz").sha256()


def test_the_command_makes_the_file_and_measures(tmp_path):
    path, target = tmp_path / "t.npz", tmp_path / "figures.json"
    arguments = ["--events", "4e3", "--live", "1e3", "--policies", "best-fit-ao,first-fit-ao"]
    result = CliRunner().invoke(
        stream.main, [str(path), *arguments, "--cores", "1", "--json", str(target)]
    )
    assert result.exit_code == 0, result.output
    passes = json.loads(target.read_text())["passes"]
    assert [len(one["policies"]) for one in passes] == [1, 1, 2]
    assert all(one["events"] == 4000 and one["peak"] > 1 << 20 for one in passes)
    assert "2 side by side" in result.output


def test_reading_is_timed(tmp_path):
    path = tmp_path / "t.npz"
    turnover.write_turnover(path, 4000, 1000)
    result = CliRunner().invoke(reading.main, ["--traces", str(path), "--repeats", "1"])
    assert result.exit_code == 0, result.output
    assert "ns an event" in result.output
