"""`simalloc snapshot`."""

import csv
import json
import os
import shutil
import subprocess
import time

import pytest
from command import simalloc


@pytest.fixture(scope="module")
def sleeper():
    """The number of a process that has started its work, and waits."""
    pipe = subprocess.PIPE
    with subprocess.Popen(["cat"], stdin=pipe, stdout=pipe) as child:
        child.stdin.write(b"a line\n")
        child.stdin.flush()
        child.stdout.readline()
        if simalloc("snapshot", child.pid).exit_code:
            pytest.skip("other processes may not be read, or have no heap of glibc")
        yield str(child.pid)
        child.stdin.close()


def test_the_first_line_is_the_answer(sleeper):
    result = simalloc("snapshot", sleeper)
    assert result.exit_code == 0
    first = result.stdout.splitlines()[0]
    assert " resident: " in first
    assert first.endswith(".")
    assert "The process was never stopped." in result.stdout


def test_json_has_the_answer_and_the_sums(sleeper):
    record = json.loads(simalloc("snapshot", sleeper, "--format", "json").stdout)
    assert record["process"] == int(sleeper)
    assert record["command"] == "cat"
    parts = record["arenas"]
    assert [part["name"] for part in parts] == ["main", "mapped"]
    assert record["total"]["bytes"] == sum(part["bytes"] for part in parts)
    assert record["mallinfo"]["arena"] == parts[0]["bytes"]
    assert record["problems"] == []


def test_blocks_are_written_as_csv(sleeper, tmp_path):
    path = tmp_path / "blocks.csv"
    assert simalloc("snapshot", sleeper, "--blocks", path).exit_code == 0
    with path.open(newline="", encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    record = json.loads(simalloc("snapshot", sleeper, "--format", "json").stdout)
    assert list(rows[0]) == ["address", "size", "state", "arena"]
    assert all(int(row["address"], 16) % 16 == 0 for row in rows)
    for state, count in record["blocks"].items():
        assert sum(row["state"] == state for row in rows) == count
    live = sum(int(row["size"]) for row in rows if row["state"] in {"live", "mmapped"})
    assert live == record["total"]["live"]


def test_a_saved_snapshot_prints_the_same(sleeper, tmp_path):
    path = tmp_path / "heap.npz"
    first = simalloc("snapshot", sleeper, "-o", path, "--no-content")
    again = simalloc("snapshot", path)
    assert again.stdout == first.stdout


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("999999999", "does not exist"),
        ("nothing", "neither the number of a process nor a file"),
        ("2", "thread of the kernel|no heap|may not be read|does not exist"),
        (os.devnull, "neither the number"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_one_line(source, message):
    result = simalloc("snapshot", source)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert any(part in result.stderr for part in message.split("|"))


def test_the_heap_is_drawn_of_a_process_and_of_a_saved_snapshot(sleeper, tmp_path):
    saved = tmp_path / "heap.npz"
    pictures = [tmp_path / "live.png", tmp_path / "saved.png"]
    simalloc("snapshot", sleeper, "-o", saved, "--plot", pictures[0])
    assert simalloc("snapshot", saved, "--plot", pictures[1]).exit_code == 0
    first, again = (picture.read_bytes() for picture in pictures)
    assert first.startswith(b"\x89PNG")
    assert first == again


def test_a_process_that_has_ended_is_called_so():
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        result = simalloc("snapshot", child.pid)
    assert result.exit_code == 2
    assert "only its exit status is left" in result.stderr
    assert f"process {os.getpid()}, its parent" in result.stderr


WAITS = "int pause(void); int main(void) { return pause(); }"


@pytest.mark.usefixtures("sleeper")
@pytest.mark.parametrize(
    ("compiler", "options", "message"),
    [
        ("cc", [], "has never called glibc's malloc"),
        ("musl-gcc", [], "its C library is musl"),
        ("musl-gcc", ["-static"], "linked statically with another C library"),
    ],
)
def test_a_process_without_a_heap_that_is_known(tmp_path, compiler, options, message):
    found = shutil.which(compiler)
    if found is None:
        pytest.skip(f"there is no {compiler}")
    program = tmp_path / "waits"
    command = [found, "-x", "c", "-", *options, "-o", program]
    subprocess.run(command, input=WAITS, text=True, check=True)
    try:
        child = subprocess.Popen([program])
    except FileNotFoundError:
        pytest.skip("musl's loader is not installed")
    try:
        assert said_at_last(child.pid, message)
    finally:
        child.kill()
        child.wait()


def said_at_last(process, message):
    """Return whether a recently started program is refused with a message."""
    for _ in range(20):
        result = simalloc("snapshot", process)
        assert result.exit_code == 2
        if message in result.stderr:
            return True
        time.sleep(0.05)
    return False


def test_a_damaged_snapshot_is_an_error(sleeper, tmp_path):
    path = tmp_path / "heap.npz"
    simalloc("snapshot", sleeper, "-o", path)
    path.write_bytes(path.read_bytes()[:-40])
    result = simalloc("snapshot", path)
    assert result.exit_code == 2
    assert "is not a snapshot, or is damaged" in result.stderr


def test_statistics_have_no_blocks(tmp_path):
    path = tmp_path / "info.xml"
    path.write_text("<malloc version='1'><heap nr='0'></heap></malloc>")
    assert simalloc("snapshot", path).exit_code == 0
    result = simalloc("snapshot", path, "--blocks", tmp_path / "blocks.csv")
    assert result.exit_code == 2
    assert "contains only sums" in result.stderr
