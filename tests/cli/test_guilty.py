"""One program in several languages: the first line of `simalloc sites` names its guilty line."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simalloc.trace import read_trace
from simalloc.trace.stacks import path_of

PROGRAMS = Path(__file__).parents[1] / "guilty"
COMPILERS = {
    "guilty.c": ["cc", "-O2", "-g"],
    "guilty.cc": ["c++", "-O2", "-g"],
    "guilty.rs": ["rustc", "-O", "-g"],
}

PYTHON = """
import threading

def generate():
    for _ in range(3):
        try:
            yield bytearray(70_000)
        except ValueError:
            pass

def fails():
    raise KeyError

def caught():
    try:
        fails()
    except KeyError:
        return bytearray(70_002)

def work():
    kept.append(bytearray(70_004))

def main():
    generator = generate()
    kept.append(next(generator))
    kept.append(generator.throw(ValueError))
    kept.append(caught())
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

kept = []
main()
"""


def simalloc(*words):
    done = subprocess.run(
        [sys.executable, "-m", "simalloc", *map(str, words)],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def compiled(source, directory):
    compiler, *options = COMPILERS[source]
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    program = directory / "program"
    subprocess.run([compiler, *options, "-o", program, PROGRAMS / source], check=True)
    return program


def assert_guilty(trace, source, *options):
    """Check what the first record names, and that both kinds of call are there."""
    text = (PROGRAMS / source).read_text().splitlines()
    line = next(
        number
        for number, each in enumerate(text, 1)
        if "guilty" in each.partition("#" if source.endswith("py") else "/")[2] and number > 2
    )
    records = json.loads(simalloc("sites", trace, "--format", "json", *options).stdout)
    first = records[0]
    assert first["function"].rpartition("::")[2] == "remember_session"
    assert Path(first["file"]).name == source
    assert first["line"] == line
    assert first["live_bytes"] >= 2000 * 100
    (buffer,) = [one for one in records if one["function"].rpartition("::")[2] == "temp_buffer"][:1]
    assert buffer["allocations"] >= 2000
    assert first["live_bytes"] > 10 * buffer["live_bytes"]


@pytest.mark.parametrize("source", COMPILERS)
def test_a_recorded_program(tmp_path, source):
    program = compiled(source, tmp_path)
    simalloc("record", "--stacks", "-o", tmp_path / "out.npz", "--", program)
    assert_guilty(tmp_path / "out.npz", source)
    subprocess.run(["strip", program], check=True)
    done = simalloc("record", "--stacks", "-o", tmp_path / "stripped.npz", "--", program)
    assert f"places in {program} could not be named" in done.stderr
    first = simalloc("sites", tmp_path / "out.npz", "--most", 1).stdout
    assert "remember_session" in first
    assert f"{source}:" in first


@pytest.mark.parametrize("source", ["guilty.c", "guilty.cc"])
@pytest.mark.parametrize("raw", [True, False])
def test_the_same_program_read_from_heaptrack(tmp_path, source, raw):
    program = compiled(source, tmp_path)
    if shutil.which("heaptrack") is None:
        pytest.skip("there is no heaptrack")
    words = ["heaptrack", *["--raw"] * raw, "-o", tmp_path / "log", program]
    subprocess.run(words, check=True, capture_output=True)
    (log,) = tmp_path.glob("log.*")
    guess = [] if raw else ["--match-frees", "newest"]
    simalloc("import", log, "-o", tmp_path / "out.npz", *guess)
    assert_guilty(tmp_path / "out.npz", source)


def test_a_python_program_read_from_memray(tmp_path):
    pytest.importorskip("memray")
    words = [sys.executable, "-m", "memray", "run", "-q", "-o", "log", PROGRAMS / "guilty.py"]
    subprocess.run(words, check=True, cwd=tmp_path)
    simalloc("import", tmp_path / "log", "-o", tmp_path / "out.npz", "--lenient")
    assert_guilty(tmp_path / "out.npz", "guilty.py")


def test_a_sample_names_the_guilty_line_and_estimates_its_bytes(tmp_path):
    program = compiled("guilty.c", tmp_path)
    simalloc("record", "--stacks", "--every", "1K", "-o", tmp_path / "out.npz", "--", program)
    trace = read_trace(tmp_path / "out.npz")
    assert trace.provenance["every"] == 1024
    assert trace.provenance["frees_of_unknown"] == 0
    assert trace.objects < 2500, "of 4,000"
    first, *_ = json.loads(simalloc("sites", tmp_path / "out.npz", "--format", "json").stdout)
    assert first["function"] == "remember_session"
    assert 0.6 < first["live_bytes"] / 209_000 < 1.4
    assert 0.6 < first["never_freed"] / 2000 < 1.4
    command = [
        sys.executable,
        "-m",
        "simalloc",
        "sites",
        tmp_path / "out.npz",
        "-p",
        "first-fit-ao",
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, "is a sample" in done.stderr) == (2, True)


def test_a_recorded_python_program(tmp_path):
    words = ["--", sys.executable, PROGRAMS / "guilty.py"]
    done = simalloc("record", "--stacks", "--python", "-o", tmp_path / "out.npz", *words)
    assert "--python" not in done.stderr
    assert_guilty(tmp_path / "out.npz", "guilty.py")
    plain = simalloc("record", "--stacks", "-o", tmp_path / "plain.npz", *words)
    assert "--python records each object" in plain.stderr


def test_python_frames_of_threads_generators_and_errors(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PYTHON)
    out = tmp_path / "out.npz"
    simalloc("record", "--stacks", "--python", "-o", out, "--", sys.executable, program)
    trace = read_trace(out)
    for size, functions in {
        70_001: ["generate"],
        70_003: ["caught", "main"],
        70_005: ["work"],
    }.items():
        sites = np.unique(trace.site[trace.size == size])
        frames = [list(path_of(trace.provenance["stacks"], int(site))) for site in sites]
        assert any([frame[0] for frame in path][: len(functions)] == functions for path in frames)
