"""`simalloc import` and `simalloc export` on the command line."""

import os
import signal
import subprocess
import sys
import zipfile

import pytest
from command import simalloc
from patience import PATIENCE, wait_until

from simalloc.api.traces import read_trace as read_trace_of_any_kind
from simalloc.trace import read_trace


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_there_and_back(tmp_path):
    assert simalloc("export", "make", "-o", "make.txt.zst").exit_code == 0
    result = simalloc("import", "make.txt.zst", "-o", "again.npz", "--name", "mine")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "18,476 events on 14,498 objects" in result.stderr
    again = read_trace(tmp_path / "again.npz")
    assert again.name == "mine"
    assert (
        simalloc("export", "again.npz", "-o", "-").stdout.splitlines()[1:]
        == simalloc("export", "make", "-o", "-").stdout.splitlines()[1:]
    )


@pytest.mark.parametrize(
    ("to_format", "split"), [("text", False), ("rep", False), ("gabber", True), ("lifetimes", True)]
)
def test_export_says_how_many_reallocs_a_format_without_them_has_split(to_format, split):
    simalloc("import", "-", "-o", "t.npz", input="m 0 8\nr 0 9\nr 0 10\nf 0\n")
    result = simalloc("export", "t.npz", "-o", "log", "--to", to_format)
    assert f"log: 4 events on 1 object (as {to_format})" in result.stderr
    assert ("split: 2 reallocs, each into a free and an allocation" in result.stderr) == split


@pytest.mark.parametrize("name", ["made.txt", "made.txt.zst"])
def test_a_trace_with_the_name_of_a_text_is_text(tmp_path, name):
    lines = ["m 0 8", "c 1 24", "f 0"]
    (tmp_path / "log").write_text("".join(f"{line}\n" for line in lines))
    assert simalloc("import", "log", "-o", name).exit_code == 0
    printed = simalloc("export", name, "-o", "-").stdout
    assert printed.splitlines()[1:] == lines
    assert not zipfile.is_zipfile(name)
    assert simalloc("generate", "-o", name, "--objects", "9").exit_code == 0
    assert not zipfile.is_zipfile(name)
    assert len(read_trace_of_any_kind(name)) == 9


def test_a_recording_is_no_text_and_is_refused_before_the_program_starts(tmp_path):
    result = simalloc("record", "-o", "made.txt.gz", "--", "touch", "started")
    assert result.exit_code == 2
    assert "made.txt.gz: is the name of a text" in result.stderr
    assert "choose made.npz" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_cannot_be_written_leaves_no_file(tmp_path):
    (tmp_path / "old.txt").write_text("m 0 8\n")
    result = simalloc("import", "-", "-o", "old.txt", input="m 0 8\nf 3\n")
    assert result.exit_code == 2
    assert [path.read_text() for path in tmp_path.iterdir()] == ["m 0 8\n"]


def test_standard_input(tmp_path):
    result = simalloc("import", "-", "-o", "t.npz", input="m 0 8\nf 3\n")
    assert result.exit_code == 2
    assert "standard input, line 2: frees object 3" in result.stderr
    assert list(tmp_path.iterdir()) == []
    result = simalloc("import", "-", "-o", "t.npz", "--lenient", input="m 0 8\nf 3\n")
    assert result.exit_code == 0
    assert "omitted: frees of unknown objects: 1, the first at line 2" in result.stderr
    assert len(read_trace(tmp_path / "t.npz")) == 1


def test_a_device_is_only_chosen_where_there_are_several(tmp_path):
    (tmp_path / "log").write_text("m 0 8\n")
    for command in ("import log -o t.npz", "device log", "report log -o page.html"):
        result = simalloc(*command.split(), "--device", "1")
        assert result.exit_code == 2
        assert "log: has no devices to choose from" in result.stderr
    result = simalloc("device", "make", "--device", "1")
    assert "which has no devices to choose from; leave out --device" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


@pytest.mark.parametrize(
    "args",
    [
        ("import", "missing.log", "-o", "t.npz"),
        ("import", ".", "-o", "t.npz"),
        ("import", "-", "-o", "missing/t.npz"),
        ("import", "-"),
        ("import", "-", "-o", "t.npz", "--from", "nonsense"),
        ("export", "missing", "-o", "t.txt"),
        ("export", "make", "-o", "t.txt", "--to", "nonsense"),
        ("export", "make", "-o", "missing/t.txt"),
    ],
)
def test_what_cannot_be_is_one_error_and_exit_code_2(tmp_path, args):
    result = simalloc(*args, input="m 0 8\n")
    assert result.exit_code == 2
    assert result.stderr.startswith("simalloc: error: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "args",
    [
        ("export", "mine.npz", "-o", "mine.npz"),
        ("export", "mine.npz", "-o", "link.npz"),
        ("export", "hard.npz", "-o", "mine.npz"),
        ("import", "log.txt", "-o", "./log.txt"),
        ("report", "make", "mine.npz", "-o", "mine.npz", "--no-native"),
        ("info", "mine.npz", "--plot", "mine.npz"),
    ],
)
def test_no_command_writes_over_what_it_reads(tmp_path, args):
    (tmp_path / "log.txt").write_text("m 0 8\n")
    simalloc("import", "log.txt", "-o", "mine.npz")
    (tmp_path / "link.npz").symlink_to("mine.npz")
    (tmp_path / "hard.npz").hardlink_to(tmp_path / "mine.npz")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = simalloc(*args)
    assert result.exit_code == 2
    assert "it is also an input, which the output would replace" in result.stderr
    assert result.stderr.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_log_of_no_known_format_is_imported_first(tmp_path):
    (tmp_path / "odd.log").write_bytes(b"\xdcber alles\n")
    message = simalloc("info", "odd.log").stderr
    assert r"it begins with '\xdcber alles\n'." in message
    assert "name it with `simalloc import --from NAME`: text, rep, " in message


@pytest.mark.parametrize(
    "args",
    [
        ("run", "pipe", "-p", "first-fit-ao"),
        ("info", "pipe.npz"),
        ("export", "pipe", "-o", "log.txt"),
    ],
)
def test_a_trace_is_not_read_from_a_pipe_but_a_log_is_imported_from_it(tmp_path, args):
    for name in ("pipe", "pipe.npz"):
        os.mkfifo(tmp_path / name)
    result = simalloc(*args)
    assert result.exit_code == 2
    assert "is not a regular file; `simalloc import` converts a pipe to a trace" in result.stderr
    with subprocess.Popen(["sh", "-c", "echo m 0 8 > pipe"], cwd=tmp_path):
        assert simalloc("import", "pipe", "-o", "t.npz").exit_code == 0
    assert len(read_trace(tmp_path / "t.npz")) == 1


def test_a_full_disk_is_an_error():
    result = simalloc("export", "make", "-o", "/dev/full")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr


@pytest.mark.parametrize(
    ("blow", "code", "words"), [(signal.SIGINT, 130, b"interrupted"), (signal.SIGTERM, 143, b"")]
)
def test_interrupted_it_leaves_nothing(tmp_path, blow, code, words):
    with subprocess.Popen(
        [sys.executable, "-m", "simalloc", "import", "-", "-o", "t.npz"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdin.write(b"m 0 8\n" + b"# waiting\n" * 200_000)
        process.stdin.flush()
        wait_until(lambda: list(tmp_path.iterdir()))  # the temporary file of the output
        process.send_signal(blow)
        process.wait(PATIENCE)
        assert process.returncode == code
        assert words in process.stderr.read()
    assert list(tmp_path.iterdir()) == []
