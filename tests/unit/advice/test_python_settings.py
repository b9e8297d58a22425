"""The malloc recommended for a Python program, and the code that holds Python's own arenas."""

import platform
import subprocess
import sys

import pytest

from simalloc import read_trace
from simalloc.advice import (
    advise,
    candidates,
    held_arenas,
    python_of,
    recorded,
    settings_of,
    user_candidate,
)
from simalloc.policy import find_policy
from simalloc.trace import Op, Trace

PEAK = 40_000
PROGRAM = f"""
import os, sys
rows = [[str(i), i / 3] for i in range({PEAK})]
kept = rows[::500]
del rows
sys._debugmallocstats()
sys.stderr.flush()
os._exit(0)
"""
POLICY = "pymalloc:zero_as_one=on"


def python_program(executable="/usr/bin/python3.11", *, sizes=100):
    """Return a program that frees most of its objects and keeps some throughout the heap."""
    objects = 40_000
    gone = [each for each in range(objects) if each % 700]
    return Trace.from_events(
        [Op.MALLOC] * objects + [Op.FREE] * len(gone),
        [*range(objects), *gone],
        [sizes] * objects + [0] * len(gone),
        site=[1 + (each % 1400 == 0) for each in range(objects)] + [0] * len(gone),
        provenance={"executable": executable, "sites": ["", "parse", "intern"]},
    )


@pytest.mark.parametrize(
    ("executable", "sizes", "release"),
    [
        ("/usr/bin/python3.11", 100, "3.11"),
        ("/usr/bin/python3.9", 100, "3.9"),
        ("/opt/python3", 100, "3.13"),
        ("/usr/bin/python3.11", 5000, ""),
        ("/usr/bin/pythonish", 100, ""),
        ("/usr/bin/sort", 100, ""),
    ],
)
def test_a_python_program_is_known_by_its_file_and_its_small_objects(executable, sizes, release):
    assert python_of(python_program(executable, sizes=sizes)) == release


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("pymalloc", ""),
        ("pymalloc:below=jemalloc", "export LD_PRELOAD=libjemalloc.so.2"),
        ("pymalloc:discard_pools=on", ""),
        ("glibc", "export PYTHONMALLOC=malloc"),
        ("glibc:arena_max=1", "export PYTHONMALLOC=malloc MALLOC_ARENA_MAX=1"),
        (
            "jemalloc:dirty_decay_ms=0",
            "export PYTHONMALLOC=malloc LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=dirty_decay_ms:0",
        ),
    ],
)
def test_lines_to_paste(text, line):
    assert user_candidate(text, python="3.11").line == line


def test_the_release_of_python_and_of_what_is_below_are_modelled():
    asked = user_candidate("pymalloc:below=jemalloc", python="3.9").policy("5.3.0")
    description = find_policy(asked).description
    assert (description.version.value, description.zero_as_one) == ("3.9", True)
    assert description.lower.version.value == "5.3.0"


def test_python_of_today_is_what_others_are_compared_with():
    tried = candidates(python="3.11")
    assert "pymalloc:version=3.11" not in {one.name for one in tried}
    trace = python_program()
    some = [one for one in tried if one.name in {"pymalloc", "pymalloc:discard_pools=on", "glibc"}]
    advice = advise(trace, settings_of(trace, some), recorded(trace.provenance))
    assert advice.now.candidate.name == "pymalloc"
    said = "If Python returned empty pools to the system, the heap's resident memory would be "
    said += "1.04 MiB "
    assert said in advice.text
    assert advice.line in {"", "export PYTHONMALLOC=malloc"}


def test_arenas_are_held_by_few_blocks_of_known_code():
    trace = python_program()
    held = held_arenas(trace, POLICY)
    assert held.event >= 40_000
    assert held.arena_bytes == 1 << 20
    assert len(held.sparse) >= 4
    assert sum(each.blocks for each in held.arenas) == sum(count for _, count, _ in held.places)
    assert [name for name, _, _ in held.places] == ["intern", "parse"]
    sizes = [each.bytes for each in held.arenas]
    assert sizes == sorted(sizes)
    assert held_arenas(trace, POLICY, 39_999).sparse == ()


@pytest.mark.skipif(platform.python_implementation() != "CPython", reason="pymalloc is CPython's")
@pytest.mark.skipif(sys.version_info[:2] > (3, 13), reason="releases up to 3.13 are modelled")
def test_arenas_are_those_of_the_program_when_it_is_not_recorded(tmp_path):
    command = [sys.executable, "-S", "-c", PROGRAM]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    peak, kept = (
        int(next(line for line in said.splitlines() if what in line).split("=")[1])
        for what in ("arenas highwater mark", "arenas allocated current")
    )
    target = tmp_path / "python.npz"
    record = [sys.executable, "-m", "simalloc", "record", "-o", str(target), "--", "/usr/bin/env"]
    recording = [*record, "PYTHONMALLOC=malloc", *command]
    subprocess.run(recording, capture_output=True, check=True)
    trace = read_trace(target)
    for arenas, event in ((peak, int(trace.replayed.live.argmax())), (kept, len(trace) - 1)):
        models = [
            len(held_arenas(trace, f"{POLICY},arena_skew={skew}", event).arenas)
            for skew in (0, 4096)  # since 3.10, arenas begin at any page
        ]
        assert min(models) - 1 <= arenas <= max(models) + 1
