"""`simalloc run`, as called by other programs."""

import csv
import io
import json
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from command import simalloc
from patience import PATIENCE, ending, wait_until

from benchmarks.turnover import write_turnover
from simalloc.policy import HEAP_POLICIES
from simalloc.trace import Trace, write_trace

FIELDS = {
    "trace", "policy", "parameters", "scale", "events", "objects", "peak_heap_bytes",
    "final_heap_bytes", "max_live_bytes", "live_bytes_at_peak_heap", "heap_bytes_at_max_live",
    "fragmentation", "seconds", "growths", "splits", "coalescings", "free_blocks_mean",
    "free_blocks_peak", "visited_mean", "visited_worst", "visited_at_free_mean",
    "visited_at_free_worst", "coalescing_frees",
}  # fmt: skip


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "small.npz"
    write_trace(Trace.from_events([0, 0, 1, 0], [0, 1, 0, 2], [10, 20, 0, 30], name="small"), path)
    return path


def test_names_follow_one_another(trace, tmp_path):
    """`-p NAME...` ends at the first argument that does not name a policy or that is a file."""
    names = ["first-fit-ao", "lea-2.6.1:growth=8K", "best-fit-*o"]
    (tmp_path / "all").write_bytes(trace.read_bytes())
    for arguments in ([trace, "-p", *names], ["-p", *names, trace], ["-p", *names, "all"]):
        result = simalloc("run", *arguments, "--format", "json", cwd=tmp_path)
        assert [run["policy"] for run in json.loads(result.stdout)] == [
            "first-fit-ao", "lea-2.6.1", "best-fit-ao", "best-fit-lifo", "best-fit-fifo",
        ]  # fmt: skip
    for arguments in (["-p", "lea-2.6.1", "--", trace, "lea-2.6.1"], [trace, "lea-2.6.1"]):
        result = simalloc("run", *arguments, *[] if "--" in arguments else ["-p", "all"])
        assert result.exit_code == 2
        assert "lea-2.6.1" in result.stderr


def test_json_is_the_contract(trace):
    result = simalloc(
        "run", trace, "-p", "first-fit-ao", "-p", "lea-2.6.1:growth=8K", "--format", "json"
    )
    assert result.exit_code == 0
    assert result.stderr == ""
    first, second = json.loads(result.stdout)
    assert set(first) >= FIELDS
    assert first["trace"] == "small"
    assert first["policy"] == "first-fit-ao"
    own = {"fit": "first", "order": "ao", "growth": 4096, "coalescing": "immediate"}
    assert first["parameters"] == own
    assert first["events"] == 4
    assert first["objects"] == 3
    assert first["max_live_bytes"] == 50
    assert set(first["fragmentation"]) == {"1", "2", "3", "4"}
    assert second["parameters"]["growth"] == 8192


def test_threads_that_a_policy_does_not_know_are_said(tmp_path):
    path = tmp_path / "two.npz"
    write_trace(Trace.from_events([0, 0], [1, 2], [10, 20], thread=[3, 7], name="two"), path)
    note = "two has 2 threads. They are replayed as one thread under best-fit-ao."
    args = ("-p", "best-fit-ao", "-p", "tcmalloc")
    assert note in simalloc("run", path, *args).stdout
    rows = json.loads(simalloc("run", path, *args, "--format", "json").stdout)
    assert [(row["threads"], row["trace_threads"]) for row in rows] == [(1, 2), (2, 2)]


def test_all_policies_in_every_format(trace):
    for form in ("table", "markdown"):
        result = simalloc("run", trace, "-p", "all", "--format", form)
        assert all(name in result.stdout for name in HEAP_POLICIES)
    rows = list(
        csv.DictReader(io.StringIO(simalloc("run", trace, "-p", "all", "--format", "csv").stdout))
    )
    assert {row["policy"] for row in rows} == set(HEAP_POLICIES)
    served = [float(row["fragmentation_4"]) for row in rows if row["refused"] == "0"]
    assert served == sorted(served), "the least waste first"
    assert served[0] >= 0


def test_a_pattern_stands_for_all_policies_that_it_matches(trace):
    given = ("-p", "*-fit-ao:growth=8K", "-p", "best-fit-ao:growth=8K", "-p", "lea-2.6.1")
    rows = json.loads(simalloc("run", trace, *given, "--format", "json").stdout)
    named = [(row["policy"], row["parameters"]["growth"]) for row in rows]
    fits = [(f"{fit}-fit-ao", 8192) for fit in ("best", "first", "next", "worst")]
    assert named == [*fits, ("lea-2.6.1", 4096)]


def test_a_range_comes_to_the_least_median_and_most_of_its_runs(trace):
    def rows(*given):
        return json.loads(simalloc("run", trace, *given, "--format", "json").stdout)

    units = ("1", "4K", "1M")
    spread, alone = rows("-p", "best-fit-ao", "csri-1.18", "--range", f"growth={','.join(units)}")
    heaps = [rows("-p", f"best-fit-ao:growth={unit}")[0]["peak_heap_bytes"] for unit in units]
    assert len(set(heaps)) == 3
    assert spread["policy"] == "best-fit-ao"
    assert [spread[f"peak heap {which}"] for which in ("min", "median", "max")] == sorted(heaps)
    assert [spread[f"#4 % {which}"] for which in ("min", "median", "max")] == [
        pytest.approx(100 * (heap / 50 - 1)) for heap in sorted(heaps)
    ]
    assert alone["runs"] == 3


def test_a_policy_without_the_parameter_is_replayed_once(trace):
    given = ("-p", "first-fit-ao", "tlsf", "--range", "fit=first,best", "--format", "json")
    first, other = json.loads(simalloc("run", trace, *given).stdout)
    assert (first["runs"], other["runs"]) == (2, 1)
    assert other["peak heap min"] == other["peak heap max"]


def test_a_trace_without_live_bytes_has_null_measures(tmp_path):
    path = tmp_path / "empty.npz"
    write_trace(Trace.from_events([0, 1], [0, 0], [0, 0]), path)
    (row,) = json.loads(simalloc("run", path, "-p", "first-fit-ao", "--format", "json").stdout)
    assert row["fragmentation"] == dict.fromkeys("1234")


def test_without_a_policy_the_default_ones_in_order(trace):
    runs = json.loads(simalloc("run", trace, "--sort", "#4", "--format", "json").stdout)
    measures = [run["fragmentation"]["4"] for run in runs]
    assert measures == sorted(measures)
    scales = {run["policy"]: run["scale"] for run in runs}
    assert scales["first-fit-ao"] == 16
    assert scales["ptmalloc"] == 1


def test_measures_of_resident_bytes(trace):
    run = simalloc("run", trace, "--of", "resident", "-p", "first-fit-ao", "--format", "json")
    (record,) = json.loads(run.stdout)
    at_peak = record["peak_resident_bytes"] / record["max_live_bytes"] - 1
    assert record["fragmentation"]["4"] == pytest.approx(at_peak)
    assert 0 < record["mean_resident_bytes"] <= record["peak_resident_bytes"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "nowhere.npz", "-p", "first-fit-ao"), "nowhere.npz"),
        (("run", "TRACE", "-p", "worst-fit"), "unknown policy 'worst-fit'"),
        (("run", "TRACE", "-p", "lousy-*"), "no policy matches 'lousy-*'"),
        (("run", "TRACE", "-p", "first-fit-ao:growth=0"), "growth"),
        (("run", "TRACE", "-p", "first-fit-ao", "--scale", "0"), "scale"),
        (("run", "TRACE", "-p", "first-fit-ao", "--range", "grwoth=1,2"), "grwoth"),
        (("run", "TRACE", "-p", "first-fit-ao", "--range", "growth"), "PARAMETER=VALUE"),
        (("run", "TRACE", "-p", "first-fit-ao", "--range", "growth=1,0"), "growth"),
        (("run", "TRACE", "-p", "first-fit-ao", "--realloc", "sometimes"), "realloc"),
        (("run", "TRACE", "--sort", "beauty"), "unknown column 'beauty'"),
        (("run",), "TRACE"),
    ],
)
def test_bad_input_is_an_error(trace, arguments, complaint):
    result = simalloc(*(trace if word == "TRACE" else word for word in arguments))
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_a_closed_pipe_is_quiet(trace):
    command = f"{sys.executable} -m simalloc run {trace} -p all | head -n 1"
    result = subprocess.run(
        command, shell=True, check=False, capture_output=True, text=True, timeout=PATIENCE
    )
    assert "Traceback" not in result.stderr


def open_files(process):
    """Return the names of files that a process has open, or [] if one was closed meanwhile."""
    with suppress(OSError):
        return [file.readlink().name for file in Path(f"/proc/{process.pid}/fd").iterdir()]
    return []


def test_ctrl_c_ends_it_long_before_its_end():
    command = [sys.executable, "-m", "simalloc", "run", *["espresso"] * 50, "-p", "all"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with ending(subprocess.Popen(command, text=True, **pipes)) as process:
        wait_until(lambda: "espresso.npz" in open_files(process))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err == "\nsimalloc: interrupted\n"
    assert out == ""


def test_memory_does_not_grow_with_the_length_of_a_trace(tmp_path):
    """Four more chunks, 88 MB in memory, need no more memory when they are streamed."""
    peaks = {}
    for chunks in (3, 7):
        path = tmp_path / "long.npz"
        write_turnover(path, events=chunks << 20, live=10_000)
        program = "from benchmarks.stream import stream; import sys; "
        program += "print(stream(sys.argv[1], 2, ['best-fit-ao', 'simple-seg-2n']).peak)"
        done = subprocess.run(
            [sys.executable, "-c", program, path], check=True, capture_output=True, timeout=PATIENCE
        )
        peaks[chunks] = int(done.stdout)
    assert peaks[7] < peaks[3] + (40 << 20)


def test_a_block_that_is_never_merged_takes_few_bytes():
    """The limit allows 600,000 live objects, then free blocks: 32 bytes, a slot, a list entry."""
    program = """
from benchmarks.stream import _peak_resident as peak
from simalloc import Trace, simulate
count = 600_000
number, size = [*range(count)] * 2, [16] * count + [0] * count
trace = Trace.from_events([0] * count + [1] * count, number, size)
trace.replayed
before = peak()
assert simulate(trace, "sqf-ff").counters.free_blocks_peak > count - 100
print((peak() - before) / count)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, timeout=120
    )
    assert float(done.stdout) < 60


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["-p", "first-fit-ao,best-fit-ao"], ["first-fit-ao", "best-fit-ao"]),
        (
            ["-p", "ptmalloc:arena_max=2,top_pad=0,jemalloc:narenas=1"],
            ["ptmalloc", "jemalloc"],
        ),
        (["-p", "best-fit-ao:growth=64K", "musl,phk"], ["best-fit-ao", "musl", "phk"]),
        (["--policy=@modern,first-fit-ao"], ["ptmalloc", "first-fit-ao"]),
    ],
)  # fmt: skip
def test_several_policies_in_one_list(given, names):
    rows = json.loads(simalloc("run", "cfrac", *given, "--format", "json").stdout)
    assert [row["policy"] for row in rows if row["policy"] in names] == names


def test_what_is_no_policy_of_a_list_is_named():
    done = simalloc("run", "cfrac", "-p", "first-fit-ao,speedy")
    assert done.exit_code == 2
    assert "'speedy'" in done.stderr


def test_largest_free(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    trace = Trace.from_events([0, 0, 1, 0], [0, 1, 0, 2], [100, 200, 0, 650], name="t")
    write_trace(trace, "t.npz")
    arguments = "run", "t.npz", "-p", "first-fit-ao:growth=16,capacity=1000", "--of", "largest-free"
    (row,) = json.loads(simalloc(*arguments, "--format", "json").stdout)
    assert row["min_largest_free_bytes"] == 100
    assert row["final_largest_free_bytes"] == 100
    assert row["mean_largest_free_bytes"] == (900 + 700 + 700 + 100) / 4
    assert row["fragmentation"]["4"] == pytest.approx(950 / 850 - 1)
    table = simalloc(*arguments).stdout
    assert "min largest free" in table
    assert "#4 %" not in table
    spread = simalloc(*arguments, "--range", "growth=16,32").stdout
    assert "min largest free median" in spread
