"""`simalloc info` in its four formats."""

import csv
import io
import json
import os
import re

import pytest
from click.testing import CliRunner
from command import simalloc

from simalloc.cli import main
from simalloc.trace import Trace, write_trace
from simalloc.trace.workloads import trace_of_lives


@pytest.fixture
def path(tmp_path):
    trace = trace_of_lives([8, 24, 16], [2, 4, 3], name="tiny", provenance={})
    write_trace(trace, tmp_path / "tiny.npz")
    return str(tmp_path / "tiny.npz")


def info(*arguments):
    result = simalloc("info", *arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_json_holds_every_statistic(path):
    (record,) = json.loads(info(path, "--format", "json"))
    assert record["trace"] == "tiny"
    assert record["counts"]["bytes"] == 48
    assert record["peak_bytes"] == {"amount": 40, "event": 3}
    assert record["sizes"]["covering"] == {"90": 3, "99": 3, "99.9": 3, "100": 3}
    assert set(record["neighbours"]["bytes"]) == {"90", "99", "99.9"}
    assert record["classes"][0]["most_live"] == 1


def test_csv_has_a_row_a_value_and_says_the_same(path):
    rows = list(csv.DictReader(io.StringIO(info(path, "--format", "csv"))))
    values = {row["statistic"]: row["value"] for row in rows}
    assert {row["trace"] for row in rows} == {"tiny"}
    assert values["counts.bytes"] == "48"
    assert values["sizes.covering.99.9"] == "3"
    assert values["classes.1.upto"] == "32"


@pytest.mark.parametrize("table_format", ["table", "markdown"])
def test_people_see_traces_side_by_side_and_each_ones_classes(path, table_format):
    text = info(path, path, "--all", "--format", table_format)
    for words in ("average lifetime, weighted by size", "tiny: size classes", "most common sizes"):
        assert words in text
    (row,) = [line for line in text.splitlines() if "largest size" in line]
    assert row.count("24") == 2


def test_added_bytes_are_said(path):
    assert "sizes with 8 bytes added" in info(path, "--added", "8")
    (record,) = json.loads(info(path, "--added", "8", "--format", "json"))
    assert [one["upto"] for one in record["classes"]] == [16, 32]
    assert record["added"] == 8


def test_threads_are_shown_where_the_trace_has_them(tmp_path):
    write_trace(Trace.from_events([0, 1], [0, 0], [8, 0], thread=[4, 5]), tmp_path / "t.npz")
    assert "freed for others" in info(str(tmp_path / "t.npz"), "--all")


def test_an_empty_trace_is_no_error(tmp_path):
    write_trace(Trace.from_events([], [], []), tmp_path / "empty.npz")
    assert "events" in info(str(tmp_path / "empty.npz"))


def test_one_size_makes_most_of_the_objects(tmp_path):
    write_trace(Trace.from_events([0], [0], [8]), tmp_path / "one.npz")
    assert "1 of its 1 size makes up 90 % of the objects" in info(str(tmp_path / "one.npz"))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_sees_bars_of_ascii(path, encoding):
    result = CliRunner(charset=encoding).invoke(main, ["info", path])
    assert result.exit_code == 0, result.stderr
    (row,) = [line for line in result.stdout.splitlines() if re.match(r"\|tiny +\| +40 ", line)]
    assert "@" in row
    assert result.stdout.isascii()


def test_the_trace_of_a_log_whose_name_is_not_unicode_is_drawn(tmp_path):
    log = tmp_path / os.fsdecode(b"odd\xff.txt")
    log.write_text("m 1 10\nf 1\n")
    assert "odd\ufffd" in info(str(log), "--plot", str(tmp_path / "odd.svg"))


@pytest.mark.parametrize("arguments", [["nonesuch"], [], ["hyper", "--added", "-1"]])
def test_what_cannot_be_done_is_exit_code_2(arguments):
    result = simalloc("info", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr


@pytest.mark.parametrize("dark", [(), ("--dark",)])
def test_a_plot_is_drawn_beside_the_table(path, tmp_path, dark):
    target = tmp_path / "tiny.png"
    assert "most live bytes" in info(path, "--plot", str(target), *dark)
    assert target.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("traces", "name", "words"),
    [
        (1, "tiny.docx", "end the name in .png, .svg or .pdf"),
        (1, "tiny.pgf", "end the name in .png, .svg or .pdf"),
        (1, "tiny", ".png"),
        (2, "tiny.png", "one trace"),
        (1, "full.pdf", "No space left on device"),
    ],
)
def test_what_cannot_be_drawn_leaves_nothing(path, tmp_path, traces, name, words):
    (tmp_path / "full.pdf").symlink_to("/dev/full")
    result = simalloc("info", *[path] * traces, "--plot", tmp_path / name)
    assert result.exit_code == 2
    assert words in result.stderr
    assert {each.name for each in tmp_path.iterdir()} == {"full.pdf", "tiny.npz"}


def test_all_commands_and_formats_count_objects_alike(tmp_path):
    """A realloc creates no further object in any command or format."""
    recorded = tmp_path / "sorted.npz"
    made = simalloc("record", "-o", recorded, "--", "sort", __file__)
    (said,) = re.findall(r"events on ([\d,]+) objects", made.stderr)
    (shown,) = re.findall(r"^ objects +([\d,]+) *$", info(str(recorded), "--all"), re.MULTILINE)
    (as_json,) = json.loads(info(str(recorded), "--format", "json"))
    counts = as_json["counts"]
    values = dict(
        row[1:] for row in csv.reader(io.StringIO(info(str(recorded), "--format", "csv")))
    )
    run = simalloc("run", recorded, "-p", "first-fit-ao", "--format", "json")
    objects = int(said.replace(",", ""))
    assert counts["reallocs"] > 0
    assert counts["lives"] == objects + counts["reallocs"]
    assert said == shown
    assert values["counts.objects"] == str(objects)
    assert counts["objects"] == json.loads(run.stdout)[0]["objects"] == objects
