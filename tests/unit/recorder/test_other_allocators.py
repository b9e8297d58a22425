"""Programs that use another allocator than the C library's, under any function name."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from recorded import (
    assert_nothing_missing,
    between_marks,
    compile_program,
    events_of,
    read_all,
    run_recorded,
    said_by,
)

from simalloc.advice.candidates import GLIBC
from simalloc.errors import SimallocError
from simalloc.heap.real.allocators import find_allocator
from simalloc.trace.recorder import ProgramError, Wanted
from simalloc.trace.recorder.built_in import ANY_MALLOC, built_in
from simalloc.trace.recorder.program import find_program

OBJECTS = {(4, 0), (1777, 0), (384, 128), (16, 0), (4 * 2345, 0), (3457, 0)}
"""Sizes and alignments of the objects that objects.cc allocates."""


def library_of(name):
    """Return the library of an installed allocator, or skip the test if it is not installed."""
    try:
        return find_allocator(name).preload
    except SimallocError:
        pytest.skip(f"{name} is not installed")


def read_objects(raw):
    """Return the recording of objects.cc, checked to contain each of its objects once."""
    events = read_all(raw)
    asked = Counter(event[2:] for event in events_of(events) if event[0] == "m")
    assert asked.keys() >= OBJECTS
    assert {asked[what] for what in OBJECTS if what[0] > 16} == {1}
    assert_nothing_missing(raw)
    return events


def test_objects_of_a_library_that_serves_new_by_itself(tmp_path, monkeypatch):
    program = compile_program("objects.cc", tmp_path, "-std=c++17", "-g")
    library = compile_program("fenced.cc", tmp_path, "-std=c++17", "-shared", "-fPIC")
    monkeypatch.setenv("LD_PRELOAD", str(library))
    raw = run_recorded([program], tmp_path / "raw", Wanted(depth=1)).raw
    events = read_objects(raw)
    assert raw.malloc == str(library)
    for size, _ in OBJECTS - {(16, 0)}:  # the object of 16 bytes is allocated through libstdc++
        (site,) = events.columns["site"][events.size == size].tolist()
        assert raw.places[raw.sites[site][1]].path == str(program)


@pytest.mark.parametrize("name", ["jemalloc", "tcmalloc", "mimalloc"])
def test_objects_of_real_allocators(tmp_path, monkeypatch, name):
    program = compile_program("objects.cc", tmp_path, "-std=c++17")
    library = library_of(name)
    monkeypatch.setenv("LD_PRELOAD", library)
    read_objects(run_recorded([program], tmp_path / "preloaded").raw)
    monkeypatch.delenv("LD_PRELOAD")
    linked = compile_program(
        "objects.cc", tmp_path, "-std=c++17", "-Wl,--no-as-needed", f"-l:{Path(library).name}"
    )
    read_objects(run_recorded([linked], tmp_path / "linked").raw)


@pytest.mark.parametrize("linked", ["jemalloc", "tcmalloc", "mimalloc"])
@pytest.mark.parametrize("preloaded", ["jemalloc", "tcmalloc", "mimalloc", GLIBC])
def test_an_allocator_that_is_preloaded_over_a_linked_one(tmp_path, monkeypatch, linked, preloaded):
    library = library_of(linked)
    program = compile_program(
        "objects.cc", tmp_path, "-std=c++17", "-Wl,--no-as-needed", f"-l:{Path(library).name}"
    )
    monkeypatch.setenv("LD_PRELOAD", GLIBC if preloaded == GLIBC else library_of(preloaded))
    run = run_recorded([program], tmp_path / "raw")
    assert run.code == 0, run.errors
    read_objects(run.raw)
    assert ("glibc" if preloaded == GLIBC else preloaded) in run.raw.malloc


def test_which_other_library_serves_objects(tmp_path, monkeypatch):
    """The C library has no C++ operators, so the linked library's operators remain in use."""
    name = Path(library_of("tcmalloc")).name
    flags = ("-std=c++17", "-Wl,--no-as-needed", f"-l:{name}")
    program = compile_program("objects.cc", tmp_path, *flags)
    assert run_recorded([program], tmp_path / "alone").raw.second_malloc == ("", 0)
    monkeypatch.setenv("LD_PRELOAD", "libc.so.6")
    raw = run_recorded([program], tmp_path / "raw").raw
    read_objects(raw)
    library, allocations = raw.second_malloc
    assert Path(library).name == name
    assert allocations >= len(OBJECTS)


@pytest.mark.parametrize("name", ["jemalloc", "tcmalloc", "mimalloc"])
def test_an_allocator_s_own_names(tmp_path, monkeypatch, name):
    program = compile_program("named.c", tmp_path)
    monkeypatch.setenv("LD_PRELOAD", library_of(name))
    run = run_recorded([program, name], tmp_path / "raw")
    assert run.code == 0
    said = said_by(run.output)
    assert len(said) >= 8
    assert between_marks(events_of(read_all(run.raw))) == said
    assert_nothing_missing(run.raw)


def test_what_an_allocator_calls_of_its_own_is_no_event(tmp_path, monkeypatch):
    program = compile_program("corners.c", tmp_path, "-Wno-unused-result")
    library = compile_program("fenced.cc", tmp_path, "-std=c++17", "-shared", "-fPIC")
    monkeypatch.setenv("LD_PRELOAD", str(library))
    run = run_recorded([program], tmp_path / "raw")
    assert run.code == 0, run.errors
    assert between_marks(events_of(read_all(run.raw))) == said_by(run.output)


BUILT_IN = """
#include <stddef.h>
static char arena[1 << 16];
void *{name}(size_t size) {{ (void)size; return arena; }}
int main(void) {{ return {name}(8) == NULL; }}
"""


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("mi_malloc", "mimalloc"),
        ("_rjem_malloc", "jemalloc"),
        ("tc_malloc", "tcmalloc"),
        ("malloc", ANY_MALLOC),
        ("other", None),
    ],
)
def test_an_allocator_that_is_built_in_is_named(tmp_path, function, name):
    source, program = tmp_path / "own.c", tmp_path / "own"
    source.write_text(BUILT_IN.format(name=function))
    subprocess.run(["cc", "-fno-builtin", "-o", program, source], check=True)
    assert built_in(program) == name


def test_an_allocator_in_a_program_without_symbols_is_named_by_its_messages(tmp_path):
    source, program = tmp_path / "own.c", tmp_path / "own"
    source.write_text('#include <stdio.h>\nint main(void) { return puts("<jemalloc>: bad"); }\n')
    subprocess.run(["cc", "-s", "-o", program, source], check=True)
    assert built_in(program) == "jemalloc"


def test_a_static_program_s_allocator_is_named(tmp_path):
    source, program = tmp_path / "own.c", tmp_path / "own"
    for function, message in (("runtime.mallocgc", "Go program"), ("je_malloc", "jemalloc built")):
        declared = f'void *own(size_t) __asm__("{function}");\nvoid *own('
        source.write_text(BUILT_IN.format(name="own").replace("void *own(", declared))
        subprocess.run(["cc", "-static", "-o", program, source], check=True)
        with pytest.raises(ProgramError, match=message):
            find_program([str(program)])


def test_an_allocator_that_env_preloads(tmp_path):
    program = compile_program("objects.cc", tmp_path, "-std=c++17")
    library = compile_program("fenced.cc", tmp_path, "-std=c++17", "-shared", "-fPIC")
    run = run_recorded(["env", "-i", f"LD_PRELOAD={library}", program], tmp_path / "raw")
    first, second = run.raws
    assert first.process == second.process
    assert second.malloc == str(library)
    read_objects(second)
