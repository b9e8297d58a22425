"""heaptrack's interpreted file: which of several equal objects dies is a reported guess."""

from pathlib import Path

import pytest
from command import simalloc

from simalloc.errors import TraceError
from simalloc.trace import read_trace
from simalloc.trace.events import Op
from simalloc.trace.formats.importing import load_log
from simalloc.trace.sites import site_name

LOGS = Path(__file__).parents[2] / "data" / "logs"
M, F = Op.MALLOC, Op.FREE

EQUALS = """\
v 10400 3
s 4 main
s 6 prog.c
s 3 lib
i 10 0 1 2 7
i 20 3
t 1 0
t 2 1
a 40 2
+ 0
c a
+ 0
- 0
+ 0
- 0
a 8 1
+ 1
"""


@pytest.fixture
def load(tmp_path):
    def load_text(text, **options):
        (tmp_path / "log").write_text(text)
        return load_log(tmp_path / "log", **options)

    return load_text


@pytest.mark.parametrize(("match_frees", "died"), [("newest", [1, 2]), ("oldest", [0, 1])])
def test_the_guess_decides_which_of_the_equal_objects_dies(load, match_frees, died):
    trace = load(EQUALS, match_frees=match_frees)
    assert trace.op.tolist() == [M, M, F, M, F, M]
    assert trace.object[trace.op == F].tolist() == died
    assert trace.size[trace.op == M].tolist() == [64, 64, 64, 8]
    assert trace.time.tolist() == [0, *[10_000_000] * 5]


def test_sites_are_named_by_function_source_and_line(load):
    trace = load(EQUALS, match_frees="newest")
    assert trace.site.tolist() == [2, 2, 0, 2, 0, 1]
    names = [site_name(trace.provenance, site) for site in (1, 2)]
    assert names == ["main (prog.c:7)", "lib (0x20) < main (prog.c:7)"]


def test_what_is_inlined_is_a_frame_too(load):
    inlined = EQUALS.replace("i 10 0 1 2 7", "i 10 0 1 2 7 1 2 9")
    assert inlined != EQUALS
    trace = load(inlined, match_frees="newest")
    assert site_name(trace.provenance, 1) == "main (prog.c:7) < main (prog.c:9)"


def test_strings_of_old_files_have_no_length(load):
    old = EQUALS.replace("v 10400 3", "v 10100 2").replace("s 4 ", "s ").replace("s 6 ", "s ")
    provenance = load(old, match_frees="newest").provenance
    assert site_name(provenance, 1) == "main (prog.c:7)"


def test_a_guess_is_said_by_name_and_provenance(load):
    trace = load(EQUALS, match_frees="oldest")
    assert trace.name == "log (frees guessed: oldest)"
    assert trace.provenance["match_frees"] == "guessed: the oldest of the equal objects"


def test_without_a_guess_it_is_refused_and_so_is_a_guess_that_is_not_needed(load):
    with pytest.raises(TraceError, match=r"--match-frees newest.*heaptrack --raw"):
        load(EQUALS)
    with pytest.raises(
        TraceError, match=r"states the object of each free .*; leave out --match-frees"
    ):
        load("m 1 10\n", match_frees="newest")
    with pytest.raises(TraceError, match="states the object of each free"):
        load_log(LOGS / "requests.heaptrack.raw.zst", match_frees="newest")


@pytest.mark.parametrize("line", ["+ 5", "- 5", "- 1"])
def test_a_kind_that_nothing_has_named_or_that_has_none_live_is_an_error(load, line):
    with pytest.raises(TraceError, match="line 18"):
        load(f"{EQUALS.replace('+ 1', '#')}{line}\n", match_frees="newest")


def test_a_free_of_a_kind_that_has_none_live_can_be_skipped(load):
    trace = load(EQUALS + "- 1\n- 1\n", match_frees="newest", lenient=True)
    assert trace.provenance["left_out"] == {"frees of unknown objects": 1}


def test_the_command_imports_what_heaptrack_wrote(tmp_path):
    target = tmp_path / "trace.npz"
    args = ["import", str(LOGS / "requests.heaptrack.zst"), "-o", str(target)]
    result = simalloc(*args, "--match-frees", "newest")
    assert result.exit_code == 0, result.stderr
    assert "frees guessed: the newest" in result.stderr
    assert read_trace(target).name == "requests (frees guessed: newest)"
    shown = simalloc("run", str(target), "-p", "first-fit-ao")
    assert "frees guessed" in shown.stdout
