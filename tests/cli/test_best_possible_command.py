"""`simalloc best-possible`, as called by another program."""

import csv
import io
import json
from pathlib import Path

import pytest
from command import simalloc

PLANNING = Path(__file__).parents[2] / "traces/planning"


def test_small_traces_and_what_is_found():
    result = simalloc("best-possible", "make", "hyper", "--format", "csv")
    rows = {row["trace"]: row for row in csv.DictReader(io.StringIO(result.stdout))}
    assert rows["make"]["peak live"] == rows["make"]["heap"] == "221259"
    assert rows["make"]["status"] == "optimal"
    assert rows["hyper (reconstructed)"]["above"] == "0"


def test_a_placement_is_written_out_and_holds(tmp_path):
    path = tmp_path / "placement.csv"
    assert simalloc("best-possible", "make", "-o", path).exit_code == 0
    lines = list(csv.reader(path.read_text().splitlines()))
    rows = [[int(value) for value in row] for row in lines[1:]]
    assert max(address + size for *_, size, address in rows) == 221_259
    events = sorted(
        [(born, 1, address, size) for _, born, _, size, address in rows]
        + [(died, 0, address, size) for _, _, died, size, address in rows]
    )
    taken = set()
    for _, begins, address, size in events:
        span = range(address, address + size)
        if begins:
            assert taken.isdisjoint(span)
            taken.update(span)
        else:
            taken.difference_update(span)


def test_a_placement_that_somebody_made_is_verified(tmp_path):
    path = tmp_path / "placement.csv"
    assert simalloc("best-possible", "make", "-o", path).exit_code == 0
    result = simalloc("best-possible", "--check", path, "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(result.stdout))
    assert (row["peak live"], row["above"]) == ("221259", "0")
    # Rows may have any order, and ids may be any text.
    path.write_text(
        "id,lower,upper,size,offset\nb#1,0,3,4,8\nb2,3,9,4,8\nb3,0,9,4,4\nb4,9,21,4,4\n"
    )
    result = simalloc("best-possible", "--check", path, "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(result.stdout))
    assert (row["peak live"], row["heap"]) == ("8", "12")


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("id,lower,upper,size,offset\na,0,3,4,0\nb,1,2,4,2\n", "overlap at event 1"),
        ("id,lower,upper,size\na,0,3,4\n", "has the columns id,lower,upper,size,offset"),
        ("id,lower,upper,size,offset\na,0,3,4,x\n", "line 2"),
        ("", "no"),
        ("m 0 8\n", "a placement has the columns id,lower,upper,size,offset"),
    ],
)
def test_a_placement_that_does_not_hold(tmp_path, table, complaint):
    path = tmp_path / "placement.csv"
    path.write_text(table)
    result = simalloc("best-possible", "--check", path)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert "--lenient" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["make", "cfrac", "-o", "x.csv"], "-o writes the placement of one trace, but 2 are given"),
        (["no-such-trace"], "neither a file nor a trace"),
        ([], "Missing argument"),
        (["make", "-o", "missing/x.csv"], "missing/x.csv"),
    ],
)
def test_bad_input(arguments, complaint):
    result = simalloc("best-possible", *arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert not result.stdout


SIX = "id,lower,upper,size\n0,0,6,82\n1,8,9,837\n2,0,1,823\n3,2,7,57\n4,4,10,16\n5,3,5,108\n"


@pytest.fixture
def six(tmp_path):
    path = tmp_path / "six.csv"
    path.write_text(SIX)
    return path


def test_what_is_proven_is_said(six):
    (record,) = json.loads(simalloc("best-possible", six, "--format", "json").stdout)
    assert record.pop("seconds") >= 0
    assert record == {
        "trace": "six",
        "peak_live_bytes": 905,
        "lower_bound_bytes": 905,
        "heap_bytes": 905,
        "status": "optimal",
    }


@pytest.mark.parametrize(
    ("capacity", "status", "sentence"),
    [
        ("905", 0, "six fits into 905 bytes: a placement needs 905."),
        ("904", 1, "six does not fit into 904 bytes: every placement needs at least 905."),
        ("1K", 0, "six fits into 1,024 bytes"),
    ],
)
def test_a_capacity(six, capacity, status, sentence):
    result = simalloc("best-possible", six, "--capacity", capacity, "--format", "csv")
    assert result.exit_code == status
    assert sentence in result.stderr


GAPS = "id,lower,upper,size,alignment,gaps\nwide,0,9,8,1,2-6@0:3\nthick,2,6,6,2,\nlow,6,8,4,1,\n"
"""`thick` is located at 4, in bytes that `wide` does not use at that time. Whole buffers need 14
bytes.
"""


def test_gaps_are_placed_written_and_checked(tmp_path):
    table, path = tmp_path / "gaps.csv", tmp_path / "placement.csv"
    table.write_text(GAPS)
    result = simalloc("best-possible", table, "-o", path, "--format", "json")
    (record,) = json.loads(result.stdout)
    assert (record["heap_bytes"], record["status"]) == (12, "optimal")
    rows = {row["id"]: row for row in csv.DictReader(path.read_text().splitlines())}
    assert [row["size"] for row in rows.values()] == ["8", "6", "4"]
    assert "@0:3" in rows["0"]["gaps"]
    (again,) = json.loads(simalloc("best-possible", path, "--format", "json").stdout)
    checked = simalloc("best-possible", "--check", path, "--format", "json")
    (record,) = json.loads(checked.stdout)
    assert record["heap_bytes"] == again["heap_bytes"] == 12


@pytest.mark.parametrize(
    ("offsets", "complaint"),
    [
        ((0, 2, 8), "life 1 at 2 and life 0 at 0 overlap"),
        ((0, 3, 8), "life 1 is at 3, not at a multiple of 2"),
        ((0, 4, 7), "life 2 at 7 and life 0 at 0 overlap"),
    ],
)
def test_gaps_that_do_not_hold(tmp_path, offsets, complaint):
    title, *rows = GAPS.splitlines()
    placed = [f"{row},{offset}" for row, offset in zip(rows, offsets, strict=True)]
    path = tmp_path / "placement.csv"
    path.write_text("\n".join([f"{title},offset", *placed, ""]))
    result = simalloc("best-possible", "--check", path)
    assert result.exit_code == 2
    assert complaint in result.stderr


@pytest.mark.parametrize("policy", ["tflite-micro", "best-possible", "first-fit-ao"])
def test_policies_refuse_gaps(tmp_path, policy):
    path = tmp_path / "gaps.csv"
    path.write_text(GAPS)
    result = simalloc("run", path, "-p", policy)
    assert result.exit_code == 2
    assert "line 2: the buffer has gaps, which a trace cannot express" in result.stderr


def test_a_capacity_that_stays_open():
    path = PLANNING / "minimalloc" / "J.1048576.csv"
    result = simalloc("best-possible", path, "--capacity", 990_000, "--effort", 0.2)
    assert result.exit_code == 3
    assert "Not decided: J may fit into 990,000 bytes." in result.stderr


@pytest.mark.parametrize("name", "CDFGHJK")
def test_instances_of_compilers_fit(name):
    path = PLANNING / "minimalloc" / f"{name}.1048576.csv"
    result = simalloc("best-possible", path, "--capacity", "1M", "--effort", 60)
    assert result.exit_code == 0
