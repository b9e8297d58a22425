"""Recorded call paths equal the program's call paths for all kinds of frames."""

import re
import shutil

import pytest
from recorded import compile_program, read_all, run_recorded

from simalloc.trace import read_trace
from simalloc.trace.recorder import Wanted, convert
from simalloc.trace.recorder.convert import convert_all
from simalloc.trace.stacks import path_of
from simalloc.trace.symbols import Place, name_places, naming, tools
from simalloc.trace.symbols.naming import function_at
from simalloc.trace.symbols.plain import plain_name

PATHS = {
    1001: "keep of_changing_size main",
    1002: "keep aligned main",
    1003: "keep handle .* interrupted main",
    1004: "keep (deep ){101}main",
    1005: "keep in_thread .*",
    1006: "keep compare .* main",
}


@pytest.mark.parametrize("options", [["-O1"], ["-O2", "-fomit-frame-pointer"], ["-O0"]])
def test_stacks_of_every_shape(tmp_path, options):
    program = compile_program("stacks.c", tmp_path, "-g", "-fno-optimize-sibling-calls", *options)
    run = run_recorded([program], tmp_path / "raw", Wanted(depth=200))
    assert run.code == 0
    events = read_all(run.raw)
    names = [frames[0][0] for frames in name_places(run.raw.places[1:])]
    for size, path in PATHS.items():
        (site,) = events.columns["site"][events.size == size].tolist()
        found = []
        while site:
            site, place = run.raw.sites[site].tolist()
            found.append(names[place - 1])
        assert re.match(path, " ".join(found)), size
        assert len(found) < 200, "the path has an end"


def test_a_place_of_many_processes_is_named_once(tmp_path, monkeypatch):
    program = compile_program("children.c", tmp_path, "-g")
    run = run_recorded([program], tmp_path / "raw", Wanted(depth=1))
    asked = []

    def frames_in(tool, path, offsets):
        asked.extend((path, offset) for offset in offsets)
        return tools.frames_in(tool, path, offsets)

    monkeypatch.setattr(naming, "frames_in", frames_in)
    traces = list(convert_all(run.raws, tmp_path / "out.npz", run.raws[0].process))
    assert len(traces) > 20
    assert len(asked) == len(set(asked)) > 0


def test_depth_is_the_innermost_places(tmp_path):
    program = compile_program("stacks.c", tmp_path, "-g")
    raw = run_recorded([program], tmp_path / "raw", Wanted(depth=3)).raw
    convert(raw, tmp_path / "out.npz")
    trace = read_trace(tmp_path / "out.npz")
    (site,) = trace.site[trace.size == 1004].tolist()
    assert [frame[0] for frame in path_of(trace.provenance["stacks"], site)] == [
        "keep",
        *["deep"] * 2,
    ]


def test_libraries_that_take_one_anothers_place(tmp_path):
    program = compile_program("loads.c", tmp_path)
    libraries = []
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        flags = (f"-DINNER=inner_{number}", f"-DBYTES={5000 + number}", "-shared", "-fPIC", "-g")
        libraries.append(compile_program("plugin.c", tmp_path / str(number), *flags))
    run = run_recorded([program, *libraries, *libraries], tmp_path / "raw", Wanted(depth=32))
    assert run.code == 0
    events = read_all(run.raw)
    names = [frames[0][0] for frames in name_places(run.raw.places[1:])]
    for number in (1, 2):
        sites = events.columns["site"][(events.size == 5000 + number)].tolist()
        assert len(sites) == 2
        assert {names[run.raw.sites[site][1] - 1] for site in sites} == {f"inner_{number}"}


@pytest.mark.parametrize("tool", ["llvm-symbolizer", "addr2line", None])
def test_names_of_functions_files_and_lines(tmp_path, monkeypatch, tool):
    if tool is not None and shutil.which(tool) is None:
        pytest.skip(f"there is no {tool}")
    program = compile_program("stacks.c", tmp_path, "-g")
    run = run_recorded([program], tmp_path / "raw", Wanted(depth=1))
    places = run.raw.places
    events = read_all(run.raw)
    (site,) = events.columns["site"][events.size == 1001].tolist()
    monkeypatch.setattr(tools.shutil, "which", lambda name: name if name == tool else None)
    ((function, file, line),) = name_places([places[run.raw.sites[site][1]]])[0]
    assert function == "keep"
    assert (file.endswith("stacks.c"), line > 0) == (tool is not None, tool is not None)


def test_what_nothing_names(tmp_path):
    assert name_places([Place("/nowhere", 16)]) == [[("/nowhere+0x10", "", 0)]]
    assert not function_at(str(tmp_path), 1)


@pytest.mark.parametrize(
    ("mangled", "plain"),
    [
        ("void a::b<int>(char) [clone .cold]", "a::b<int>"),
        ("operator new(unsigned long)", "operator new"),
        ("operator()", "operator()"),
        (
            "std::function<void (int)>::operator()(int) const",
            "std::function<void (int)>::operator()",
        ),
        ("(anonymous namespace)::f(int) (.isra.0)", "(anonymous namespace)::f"),
        ("main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"),
        ("foo.isra.0.cold", "foo"),
        ("std::ostream& operator<< <char>(std::ostream&, char)", "operator<< <char>"),
        ("a::Vec$LT$T$C$A$GT$::with::h0123456789abcdef", "a::Vec<T,A>::with"),
        ("_$LT$u8$u20$as$u20$a..B$GT$::from", "<u8 as a::B>::from"),
        ("unsigned long f<int>(int, (anonymous namespace)::X)", "f<int>"),
    ],
)
def test_plain_names(mangled, plain):
    assert plain_name(mangled) == plain


@pytest.mark.parametrize(
    "damaged",
    [
        {"places": [[], [["f", "", 0]]], "parent": [0, 1], "place": [0, 1]},
        {"places": [[], [["f", "", 0]]], "parent": [0, 7], "place": [0, 1]},
        {"places": [[], [["f", "", 0]]], "parent": [], "place": [0, 1]},
    ],
)
def test_a_damaged_path_ends(damaged):
    assert list(path_of(damaged, 1)) == [("f", "", 0)]
    assert list(path_of(damaged, 5)) == []
    assert list(path_of({}, 1)) == []


def test_the_kernel_is_not_asked_about_each_frame_without_tables(tmp_path):
    options = ["-O2", "-fno-asynchronous-unwind-tables", "-fno-omit-frame-pointer"]
    program = compile_program("tableless.c", tmp_path, *options, "-fno-optimize-sibling-calls")
    run = run_recorded([program], tmp_path / "raw", Wanted(depth=64))
    assert int(run.output) < 100
    events = read_all(run.raw)
    for size in (1001, 1002):
        (site,) = set(events.columns["site"][events.size == size].tolist())
        depth = 0
        while site:
            site, depth = int(run.raw.sites[site][0]), depth + 1
        assert depth > 20
    without = run_recorded([program], tmp_path / "without")
    assert len(read_all(without.raw)) == len(events), "asking for a thread's bounds is no event"
