"""`simalloc settings`, as called by other programs."""

import json
import sys
from io import StringIO

import numpy as np
import pytest
from command import simalloc

from simalloc.cli.settings import command
from simalloc.trace import Op, Trace, write_trace


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    made = Trace.from_events(
        [Op.MALLOC] * 300 + [Op.FREE] * 200,
        [*range(300), *range(200)],
        [5000] * 300 + [0] * 200,
        provenance={"cpu_seconds": 2.5},
    )
    path = tmp_path_factory.mktemp("settings") / "mine.npz"
    write_trace(made.renamed("mine"), path)
    return str(path)


def settings(*arguments):
    return simalloc("settings", *arguments)


def test_the_rows_of_a_program(trace):
    found = json.loads(settings(trace, "--format", "json").stdout)
    rows = found["rows"]
    assert {row["allocator"] for row in rows} == {"glibc", "jemalloc", "tcmalloc", "mimalloc"}
    assert [row["settings"] for row in rows if row["allocator"] == "glibc"][:2] == [
        "default", "arena_max=1",
    ]  # fmt: skip
    for row in rows:
        assert row["peak_resident_bytes"] >= row["mean_resident_bytes"] > 0
        assert row["peak_resident_bytes"] >= row["unused_resident_bytes"] > row["library_bytes"]
        assert row["peak_mapped_bytes"] >= row["final_mapped_bytes"] > 0
        assert ("export" in row["line"]) == (row["settings"] != "default" or row["line"] != "") or (
            "malloc_trim" in row["line"]
        )


def test_it_ends_in_a_verdict(trace):
    done = settings(trace, "--settings", "glibc:arena_max=3")
    assert done.exit_code == 0
    assert "arena_max=3" in done.stdout
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith(("No change recommended:", "  export ", "export "))


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("columns", "width"), [(60, 60), (140, 100)])
def test_a_terminal_shows_the_verdict_in_paragraphs_that_fit(trace, monkeypatch, columns, width):
    sentences = json.loads(settings(trace, "--format", "json").stdout)["verdict"]
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", str(columns))
    command.main([trace], standalone_mode=False)
    _, *paragraphs = sys.stdout.getvalue().split("\n\n")
    first = next(i for i, text in enumerate(paragraphs) if text.startswith("Recommended: "))
    *verdict, line = paragraphs[first:]
    assert len(verdict) > 2
    assert " ".join(" ".join(verdict).split()) == " ".join(sentences)
    assert all(text.rstrip().endswith(".") for text in verdict)
    assert max(len(each) for text in verdict for each in text.splitlines()) <= width
    assert line.startswith("  export ")


def test_one_object_has_the_machine_the_verdict_and_the_rows(trace):
    found = json.loads(settings(trace, "--format", "json", "--cores", "3").stdout)
    assert list(found) == ["trace", "machine", "process", "recommendation", "verdict", "rows"]
    assert (found["machine"]["cores"], found["machine"]["assumed"]) == (3, [])
    assert found["process"]["cpu_seconds"] == 2.5
    assert found["verdict"][0].startswith(("Recommended: ", "No change recommended: "))
    recommended = found["recommendation"]
    if recommended is not None:
        of_it = [row for row in found["rows"] if row["line"] == recommended["line"]]
        assert of_it[0]["settings"] == recommended["settings"]
        assert recommended["saves_bytes"] > 256 << 10
        assert recommended["cost"].keys() == {
            "cpu_seconds", "max_cpu_seconds", "cpu_share", "max_cpu_share", "page_faults",
            "system_calls",
        }  # fmt: skip
    assert len(json.loads(settings(trace, trace, "--format", "json").stdout)) == 2


def test_the_table_names_the_machine_and_fits_100_columns(trace):
    text = settings(trace).stdout
    assert "Machine: 8 cores (assumed; use --cores), pages of 4 KiB." in text
    table = text[: text.index("Resident heap memory")]
    assert max(map(len, table.splitlines())) <= 100
    assert "Machine: 64 cores (given)" in settings(trace, "--cores", "64").stdout


def test_a_budget_leaves_the_row_that_the_program_uses(tmp_path):
    """The threads run in turn and keep a tenth of their objects: one arena lowers the peak."""
    each, threads = 400, 8
    op = ([Op.MALLOC] * each + [Op.FREE] * (each * 9 // 10)) * threads
    numbers = np.arange(each * threads).reshape(threads, each)
    gone = numbers[:, np.arange(each) % 10 > 0]
    made = Trace.from_events(
        op,
        np.hstack([numbers, gone]).ravel(),
        np.hstack([np.full(numbers.shape, 3000), np.zeros(gone.shape, int)]).ravel(),
        thread=np.repeat(np.arange(threads), each + gone.shape[1]),
        provenance={"malloc": "glibc 2.36"},
    )
    path = str(tmp_path / "turns.npz")
    write_trace(made.renamed("turns"), path)
    rows = json.loads(settings(path, "--format", "json").stdout)["rows"]
    least = min(row["peak_resident_bytes"] for row in rows)
    assert rows[0]["peak_resident_bytes"] > 2 * least
    kept = json.loads(settings(path, "--format", "json", "--budget", str(int(2 * least))).stdout)
    assert kept["rows"][0] == rows[0]
    assert 1 < len(kept["rows"]) < len(rows)
    assert kept["recommendation"]["line"] in {row["line"] for row in kept["rows"]}


@pytest.mark.parametrize("command", ["settings", "report", "run", "info", "place", "waste"])
def test_a_sample_is_refused(command, tmp_path):
    sample = Trace.from_events([Op.MALLOC], [0], [8], provenance={"every": 512})
    path = str(tmp_path / "sample.npz")
    write_trace(sample.renamed("sample"), path)
    more = {"run": ["-p", "best-fit-ao"], "waste": ["-p", "ptmalloc"],
            "place": ["-p", "ptmalloc", "-o", str(tmp_path / "places.csv")],
            "report": ["-o", str(tmp_path / "page.html")]}  # fmt: skip
    done = simalloc(command, path, *more.get(command, []))
    assert done.exit_code == 2
    assert "sample is a sample (--every), which lacks most of the program's objects" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--budget", "10"], "no setting stays below 10 bytes; the smallest peak is"),
        (["--budget", "much"], "'--budget': 'much' is not a size"),
        (["--settings", "hoard"], "'hoard' has no model"),
        (["--settings", "glibc:speed=11"], "no parameter 'speed'"),
    ],
)
def test_what_cannot_be(trace, arguments, complaint):
    done = settings(trace, *arguments)
    assert done.exit_code == 2
    assert complaint in done.stderr


def test_a_devices_memory_is_not_given_to_malloc(tmp_path):
    (tmp_path / "steps.txt").write_text("m 0 2000000 0\nf 0\n")
    done = settings(str(tmp_path / "steps.txt"))
    assert done.exit_code == 2
    assert "`simalloc device`" in done.stderr


def test_the_verdict_says_what_to_put_apart(tmp_path):
    """Sessions remain between freed buffers, and glibc trims only the end of its heap."""
    count = 1000
    op = [Op.MALLOC] * count + [Op.FREE] * (count // 2)
    made = Trace.from_events(
        op,
        [*range(count), *range(0, count, 2)],
        [6000 if event % 2 == 0 else 40 for event in range(count)] + [0] * (count // 2),
        site=[1 + event % 2 for event in range(count)] + [0] * (count // 2),
        provenance={"sites": ["", "buffer (page.c:2)", "xmalloc < remember (session.c:7)"]},
    )
    path = tmp_path / "served.npz"
    write_trace(made, path)
    said = settings(str(path), "--no-native").stdout
    assert "remember (session.c:7)" in said
    assert " 2.89 MiB to" in said
