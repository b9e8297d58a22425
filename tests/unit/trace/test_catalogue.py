"""The catalogue compared with its files, and the search for traces by name."""

import json
import tomllib
from pathlib import Path

import pytest
from command import simalloc

from simalloc.errors import TraceError
from simalloc.trace import Trace, TraceReader, write_trace
from simalloc.trace.catalogue import catalogue, find_trace, load

FOLDER = Path(__file__).parents[3] / "traces"
NAMES = tomllib.loads((FOLDER / "catalogue.toml").read_text("utf-8"))["traces"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SIMALLOC_TRACES", raising=False)


@pytest.mark.parametrize("name", NAMES)
def test_each_entry_describes_its_file(name):
    entry = catalogue()[name]
    entry.check()
    with TraceReader(entry.path) as reader:
        assert (reader.header.totals, reader.identity().events) == (entry.totals, entry.sha256)
        provenance = reader.header.provenance
        said = " (reconstructed)" if entry.kind == "reconstructed" else ""
        assert reader.header.name == name + said
    for key in ("program", "version", "input", "kind", "recorded", "genuine", "departures"):
        assert provenance[key] == getattr(entry, key), f"the file's own {key}"


def test_every_file_is_in_the_catalogue():
    assert {path.stem for path in FOLDER.glob("*.npz")} == set(NAMES)


def test_a_path_wins_over_a_name_and_the_variable_over_the_current_directory(tmp_path, monkeypatch):
    trace = Trace.from_events([0], [0], [8])
    for folder in ("traces", "mine"):
        (tmp_path / folder).mkdir()
        write_trace(trace, tmp_path / folder / "espresso.npz")
    assert find_trace("espresso") == Path("traces/espresso.npz")
    monkeypatch.setenv("SIMALLOC_TRACES", str(tmp_path / "mine"))
    assert find_trace("espresso") == tmp_path / "mine" / "espresso.npz"
    assert find_trace("traces/espresso.npz") == Path("traces/espresso.npz")
    assert len(load("espresso")) == 1


def test_an_unknown_name_is_an_error_with_a_hint():
    with pytest.raises(TraceError, match="did you mean espresso"):
        find_trace("expresso")
    with pytest.raises(TraceError, match="`simalloc traces` lists"):
        find_trace("qqqqqqqq")


def test_a_folder_is_no_trace_and_hides_none_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "make").mkdir()
    assert find_trace("make").name == "make.npz"
    with pytest.raises(TraceError, match="is a directory"):
        load(".")


@pytest.mark.parametrize(
    "text", ["no = [toml", "[traces.x]\nprogram = 1", "recordings = 3\ntraces = 1"]
)
def test_a_broken_catalogue_is_an_error(tmp_path, text):
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "catalogue.toml").write_text(text)
    with pytest.raises(TraceError, match=r"catalogue\.toml"):
        catalogue()


def test_the_command_lists_the_catalogue():
    result = simalloc("traces", "--format", "json")
    assert [row["name"] for row in json.loads(result.stdout)] == list(NAMES)
