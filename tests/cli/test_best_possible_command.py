"""`simalloc best-possible`, as another program calls it."""

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
    # The rows may come in any order, and ids are anything.
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
