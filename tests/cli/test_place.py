"""`simalloc place`, as called by other programs."""

import csv

import pytest
from command import simalloc

LOG = "m 1 5000\nm 2 9000\nf 1\nm 3 50\nf 2\nf 3\n"


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "small.txt"
    path.write_text(LOG)
    return str(path)


def place(*arguments):
    return simalloc("place", *arguments)


def test_a_row_for_each_event(log):
    done = place(log, "-p", "first-fit-ao:growth=1", "--scale", "1")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "event,address,mapped,resident",
        "1,0,5000,8192",
        "2,5000,14000,16384",
        "3,-,14000,16384",
        "4,0,14000,16384",
        "5,-,14000,16384",
        "6,-,14000,16384",
    ]


def test_each_fourth_and_the_last_in_a_file(log, tmp_path):
    target = tmp_path / "placed.csv"
    done = place(log, "-p", "first-fit-ao", "-o", str(target), "--every", "4", "--write", "none")
    assert (done.exit_code, done.stdout) == (0, "")
    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert [row["event"] for row in rows] == ["4", "6"]
    assert {row["resident"] for row in rows} == {"0"}


def test_a_device_tells_what_is_reserved(tmp_path):
    log = tmp_path / "device.txt"
    log.write_text("m 1 600 0\nm 2 3000000 0\nf 1\n")
    rows = list(csv.DictReader(place(str(log), "-p", "pytorch").stdout.splitlines()))
    assert [row["address"] for row in rows] == ["0", str(2 << 20), "-"]
    assert [row["mapped"] for row in rows] == [str(2 << 20), str(22 << 20), str(22 << 20)]
    assert all(row["mapped"] == row["pytorch.reserved_bytes.all.current"] for row in rows)


def test_own_figures_stand_behind_the_allocators_name(tmp_path):
    log = tmp_path / "threads.txt"
    log.write_text("t 0\nm 1 100\nt 1\nm 2 100\nf 2\n")
    for name, figure in (("ptmalloc", "system.0"), ("jemalloc", "allocated"), ("scudo", "classes")):
        header = place(str(log), "-p", name).stdout.splitlines()[0].split(",")
        assert header[:4] == ["event", "address", "mapped", "resident"]
        assert f"{name}.{figure}" in header
        assert len(set(header)) == len(header)
        assert all(column.startswith(f"{name}.") for column in header[4:])


def test_addresses_are_the_programs_at_any_scale(log):
    plain, scaled = (
        place(log, "-p", "first-fit-ao:growth=16", "--scale", scale).stdout for scale in "13"
    )
    columns = [
        [row.split(",")[:2] for row in text.splitlines()]
        for text in (plain, place(log, "-p", "first-fit-ao:growth=1", "--scale", "16").stdout)
    ]
    assert columns[0] == columns[1]
    assert scaled.splitlines()[2].startswith("2,5000,")


def test_a_refused_request_has_the_address_x(log):
    done = place(log, "-p", "first-fit-ao:growth=1,capacity=10K", "--scale", "1")
    addresses = [row.split(",")[1] for row in done.stdout.splitlines()[1:]]
    assert addresses == ["0", "x", "-", "0", "-", "-"]
    stopped = place(log, "-p", "first-fit-ao:growth=1,capacity=10K", "--on-refusal", "stop")
    assert [row.split(",")[1] for row in stopped.stdout.splitlines()[1:]] == ["0", "x"]


def test_an_object_may_lie_below_where_addresses_are_told_from(tmp_path):
    log = tmp_path / "threads.txt"
    log.write_text("t 1\nm 1 100\nt 0\nm 2 100\n")
    done = place(str(log), "-p", "mimalloc:version=2.0.9")
    segments = [int(row["address"]) >> 25 for row in csv.DictReader(done.stdout.splitlines())]
    assert segments == [0, -1]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-p", "nosuch"], "unknown policy 'nosuch'"),
        (["-p", "best-possible"], "does not place objects event by event"),
        (["-p", "first-fit-ao", "-p", "best-fit-ao"], "place takes one policy, but first-"),
        (["-p", "ptmalloc:arena_max=2,top_pad=0,jemalloc"], "top_pad=0 and jemalloc are given."),
        (["-p", "first-fit-ao", "--page", "3000"], "a power of two"),
        (["-p", "first-fit-ao", "--page", "wide"], "is not a size"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_no_file(log, tmp_path, arguments, complaint):
    target = tmp_path / "placed.csv"
    done = place(log, *arguments, "-o", str(target))
    assert done.exit_code == 2
    assert complaint in done.stderr
    assert not target.exists()
