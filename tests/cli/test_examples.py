"""`simalloc examples`: the files are copied and agree with their page."""

import shutil
import subprocess

import pytest
from command import simalloc

from simalloc import read_log, read_trace
from simalloc.examples import FILES, FOLDER


def test_the_files_are_copied_to_a_folder(tmp_path):
    ended = simalloc("examples", cwd=tmp_path)
    assert ended.exit_code == 0, ended.stderr
    assert ended.stdout.split() == [f"examples/{name}" for name in FILES]
    for name in FILES:
        assert (tmp_path / "examples" / name).read_bytes() == (FOLDER / name).read_bytes()
    assert {path.name for path in FOLDER.iterdir() if path.is_file()} == {*FILES, "__init__.py"}


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "taken").write_text("")
    assert simalloc("examples", tmp_path / "taken").exit_code == 2


def test_the_log_and_the_recordings_are_read():
    assert len(read_log(FOLDER / "server.log")) == 34
    before, after = (read_trace(FOLDER / f"{name}.npz") for name in ("before", "after"))
    assert before.objects == after.objects
    assert (before.provenance["malloc"], after.site is not None) == ("glibc 2.36", True)


def test_the_recordings_are_of_the_program(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    program = tmp_path / "sessions"
    subprocess.run(["cc", "-O1", "-o", program, FOLDER / "sessions.c"], check=True)
    ended = simalloc("record", "-o", tmp_path / "again.npz", "--", program, "100")
    assert ended.exit_code == 0, ended.stderr
    assert read_trace(tmp_path / "again.npz").objects == 42001
