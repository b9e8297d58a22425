"""Programs that can be recorded, and the messages for other programs."""

import os
import subprocess
import sys

import pytest
from recorded import compile_program

from simalloc.trace.recorder.built_in import FREE_THREADED, built_in
from simalloc.trace.recorder.launch import preload_library
from simalloc.trace.recorder.program import ProgramError, check_python, find_program


def make(path, content, mode=0o755):
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


def test_where_the_recorder_was_left_out_that_is_said(monkeypatch):
    monkeypatch.setattr("simalloc.trace.recorder.launch.LIBRARY", "left-out.so")
    with pytest.raises(ProgramError, match="built without the recorder"), preload_library():
        pass


def test_a_program_is_found_as_a_shell_finds_it(tmp_path, monkeypatch):
    assert find_program(["sh"]).name == "sh"
    assert find_program([sys.executable]) == find_program([sys.executable]).absolute()
    program = compile_program("loads.c", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert find_program(["./loads"]) == program
    with pytest.raises(ProgramError) as caught:
        find_program(["loads"])
    assert caught.value.exit_code == 127


def test_scripts_are_what_runs_them(tmp_path):
    find_program([make(tmp_path / "shell", b"#!/bin/sh\nexit\n")])
    find_program([make(tmp_path / "env", b"#!/usr/bin/env -S LC_ALL=C sh -e\n")])
    find_program([make(tmp_path / "again", b"#! " + os.fsencode(tmp_path / "shell") + b" -x\n")])


@pytest.mark.parametrize(
    ("content", "mode", "message", "code"),
    [
        (b"", 0o755, "neither a program nor a script", 126),
        (b"echo hello\n", 0o755, "neither a program nor a script", 126),
        (b"#!/bin/sh\n", 0o644, "may not be executed", 126),
        (b"#!\n", 0o755, "names no interpreter", 126),
        (b"#!/no/such/interpreter\n", 0o755, "interpreter /no/such/interpreter is missing", 126),
        (b"#!/usr/bin/env no-such-program\n", 0o755, "no-such-program: program not found", 127),
        (b"\x7fELF", 0o755, "not built for", 2),
        (b"\x7fELF\x02\x01", 0o755, "ELF header is damaged", 126),
        (b"\x7fELF\x01\x01" + bytes(200), 0o755, "not built for", 2),
        (b"\x7fELF\x02\x01" + bytes(58), 0o755, "not built for", 2),
    ],
)
def test_what_cannot_be_run(tmp_path, content, mode, message, code):
    name = make(tmp_path / "program", content, mode)
    with pytest.raises(ProgramError, match=message) as caught:
        find_program([name])
    assert caught.value.exit_code == code


def test_a_script_that_runs_itself(tmp_path):
    path = tmp_path / "program"
    name = make(path, b"#!" + os.fsencode(path) + b"\n")
    with pytest.raises(ProgramError, match="names no interpreter"):
        find_program([name])


@pytest.mark.parametrize(
    ("name", "message", "code"),
    [
        ("no-such-program", "program not found", 127),
        ("/no/such/program", "program not found", 127),
        ("/", "is a directory", 126),
        ("", "program not found", 127),
    ],
)
def test_what_is_not_there(name, message, code):
    with pytest.raises(ProgramError, match=message) as caught:
        find_program([name])
    assert caught.value.exit_code == code


def test_static_programs(tmp_path):
    try:
        program = compile_program("ends.c", tmp_path, "-static")
    except subprocess.CalledProcessError:
        pytest.skip("there is no static C library")
    with pytest.raises(ProgramError, match="linked statically") as caught:
        find_program([str(program)])
    assert caught.value.exit_code == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a program to another user")
def test_programs_with_the_rights_of_another_user(tmp_path):
    program = compile_program("loads.c", tmp_path)
    os.chown(program, 65534, 65534)
    find_program([str(program)])
    for mode in (0o4755, 0o2755):
        program.chmod(mode)
        with pytest.raises(ProgramError, match="setuid") as caught:
            find_program([str(program)])
        assert caught.value.exit_code == 2


def test_programs_for_another_c_library(tmp_path):
    program = compile_program("loads.c", tmp_path, "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1")
    with pytest.raises(ProgramError, match=r"ld-musl.*needs the loader of the GNU C library"):
        find_program([str(program)])


@pytest.mark.parametrize(
    ("flag", "name"), [("address", "AddressSanitizer"), ("thread", "ThreadSanitizer")]
)
def test_programs_that_are_built_with_a_sanitizer(tmp_path, flag, name):
    source, program = tmp_path / "p.c", tmp_path / "p"
    source.write_text("#include <stdlib.h>\nint main(void) { free(malloc(8)); return 0; }\n")
    command = ["cc", f"-fsanitize={flag}", "-o", program, source]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip(f"there is no {name}")
    with pytest.raises(ProgramError, match=f"is built with {name}"):
        find_program([str(program)])


@pytest.mark.parametrize("linked", [False, True])
def test_a_free_threaded_python(tmp_path, linked):
    """Such a Python is detected by a function that only it has, or by its library's name."""
    source, program = tmp_path / "p.c", tmp_path / "python3.13t"
    source.write_text("void _Py_DecRefShared(void) {}\nint main(void) { return 0; }\n")
    options = []
    if linked:
        library = tmp_path / "libpython3.13t.so.1.0"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-o", library, source, f"-Wl,-soname,{library.name}"],
            check=True,
        )
        source.write_text("int main(void) { return 0; }\n")
        options = ["-Wl,--no-as-needed", library]
    subprocess.run(["cc", "-o", program, source, *options], check=True)
    assert built_in(program) == FREE_THREADED
    with pytest.raises(ProgramError, match="a free-threaded Python allocates"):
        check_python([str(program)])
    assert built_in(sys.executable) is None
    check_python([sys.executable])


def test_a_free_threaded_python_that_a_script_or_env_starts(tmp_path, monkeypatch):
    source, program = tmp_path / "p.c", tmp_path / "python3.13t"
    source.write_text("void _Py_DecRefShared(void) {}\nint main(void) { return 0; }\n")
    subprocess.run(["cc", "-o", program, source], check=True)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for line in (
        f"{program} -X gil=0",
        "/usr/bin/env python3.13t",
        "/usr/bin/env -S A=1 python3.13t",
    ):
        script = tmp_path / "script"
        script.write_text(f"#!{line}\n")
        script.chmod(0o755)
        with pytest.raises(ProgramError, match="a free-threaded Python allocates"):
            check_python([str(script)])
    with pytest.raises(ProgramError, match="a free-threaded Python allocates"):
        check_python(["env", "-i", "A=1", "python3.13t", "a.py"])
    check_python(["env", "A=1", sys.executable])
