"""One program in several languages: the first line of `simalloc sites` names its guilty line."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command import simalloc as called

from experiments.sites.fixing import COMPILERS, PROGRAMS, command_of, fix_of
from simalloc.trace import read_trace
from simalloc.trace.stacks import path_of

GUILTY = ("// guilty", "# guilty", "/* guilty */")

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


def run(*words, **options):
    done = subprocess.run(
        [*map(str, words)], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        **options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def simalloc(*words, code=0):
    done = called(*words)
    assert done.exit_code == code, done.stderr
    return done


def program_of(source, directory):
    compiler, *_ = COMPILERS[source] or [sys.executable]
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    return command_of(source, directory)


def guilty_place(source):
    text = (PROGRAMS / source).read_text("utf-8").splitlines()
    return source, next(at for at, line in enumerate(text, 1) if line.endswith(GUILTY))


def assert_guilty(trace, source):
    """Check that buffers hold most of the memory, and that a function's sessions pin the rest."""
    held = json.loads(simalloc("sites", trace, "-p", "ptmalloc", "--format", "json").stdout)
    most = max(held, key=lambda row: row["live_bytes"])
    for row, function in ((held[0], "remember_session"), (most, "temp_buffer")):
        assert row["function"].rpartition("::")[2] == function
    assert (Path(held[0]["file"]).name, held[0]["line"]) == guilty_place(source)
    assert held[0]["pinned_bytes"] > 2_000_000


@pytest.mark.parametrize("source", COMPILERS)
def test_a_recorded_program(tmp_path, source):
    program = program_of(source, tmp_path)
    python = ["--python"] * source.endswith("py")
    done = simalloc("record", "--stacks", *python, "-o", tmp_path / "out.npz", "--", *program)
    assert "--python" not in done.stderr
    assert_guilty(tmp_path / "out.npz", source)


def test_what_a_stripped_program_lacks_is_said(tmp_path):
    (program,) = program_of("guilty.c", tmp_path)
    run("strip", program)
    done = simalloc("record", "--stacks", "-o", tmp_path / "out.npz", "--", program)
    assert f"places in {program} could not be named" in done.stderr


@pytest.mark.parametrize(("source", "raw"), [("guilty.cc", True), ("guilty.c", False)])
def test_the_same_program_read_from_heaptrack(tmp_path, source, raw):
    program = program_of(source, tmp_path)
    if shutil.which("heaptrack") is None:
        pytest.skip("there is no heaptrack")
    run("heaptrack", *["--raw"] * raw, "-o", tmp_path / "log", *program)
    (log,) = tmp_path.glob("log.*")
    guess = [] if raw else ["--match-frees", "newest"]
    simalloc("import", log, "-o", tmp_path / "out.npz", *guess)
    assert_guilty(tmp_path / "out.npz", source)


def test_a_python_program_read_from_memray(tmp_path):
    pytest.importorskip("memray")
    memray = [sys.executable, "-m", "memray", "run", "-q", "-o", "log"]
    run(*memray, PROGRAMS / "guilty.py", cwd=tmp_path)
    simalloc("import", tmp_path / "log", "-o", tmp_path / "out.npz", "--lenient")
    assert_guilty(tmp_path / "out.npz", "guilty.py")


def test_the_arena_that_is_proposed_saves_in_the_process_what_was_said():
    fix = fix_of("guilty.c")
    assert [frame.function for frame in fix.proposal.frames] == ["remember_session"]
    assert fix.saved == pytest.approx(fix.proposal.apart.saved, rel=0.1)


def test_a_sample_names_the_guilty_line_and_estimates_its_bytes(tmp_path):
    program, out = program_of("guilty.c", tmp_path), tmp_path / "out.npz"
    simalloc("record", "--stacks", "--every", "1K", "-o", out, "--", *program)
    trace = read_trace(out)
    assert trace.provenance["every"] == 1024
    assert trace.provenance["frees_of_unknown"] == 0
    assert trace.objects < 2500, "of 4,000"
    options = ("--measure", "final_bytes", "--format", "json")
    first, *_ = json.loads(simalloc("sites", out, *options).stdout)
    assert first["function"] == "remember_session"
    assert 0.6 < first["final_bytes"] / 209_000 < 1.4
    assert 0.6 < first["never_freed"] / 2000 < 1.4
    assert "is a sample" in simalloc("sites", out, "-p", "first-fit-ao", code=2).stderr


def test_of_python_unasked_it_is_said_what_is_missing(tmp_path):
    words = ("--", sys.executable, "-c", "print(1)")
    plain = simalloc("record", "--stacks", "-o", tmp_path / "plain.npz", *words)
    assert "Use --python to record every object" in plain.stderr


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
