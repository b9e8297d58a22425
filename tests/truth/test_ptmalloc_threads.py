"""The model of glibc's malloc with threads compared with the real one: tests/data/mallocs/glibc.

At every event each object is at its location in the same arena, and each arena has the same memory,
threads and resident pages.
"""

import csv
from pathlib import Path

import pytest
import zstandard
from placed import placed

from simalloc import read_trace
from simalloc.heap.running.setting import Setting
from simalloc.policy import find_policy

MEASURED = Path(__file__).parents[1] / "data" / "mallocs" / "glibc"
CASES = sorted(str(path.relative_to(MEASURED)) for path in MEASURED.glob("2.*/*.csv.zst"))
FIGURES = (
    "address",
    "arenas",
    "system",
    "attached",
    "mapped",
    "resident",
    "resident_mapped",
    "resident_total",
)


def measured(case):
    """Return glibc's results, by the number of the event."""
    with zstandard.open(MEASURED / case, "rt") as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        return {row["event"]: {name: row[name] for name in FIGURES} for row in rows}


def replayed(case, engine):
    """Return the model's results, by the number of the event."""
    version, name = case.removesuffix(".csv.zst").split("/")
    name, writes = name.rsplit(".", 1)
    program, _, setting = name.partition("@")
    given = dict(part.split("=") for part in setting.split(",") if part)
    model = find_policy("ptmalloc", version=version, cores=2, **given)
    trace = read_trace(MEASURED / f"{program}.txt.zst")
    asked = Setting.of(trace, model, resident=True, writes=writes == "w1", engine=engine)
    rows = {row["event"]: row for row in placed(asked)}
    return {event: {name: reported(row, name) for name in FIGURES} for event, row in rows.items()}


def reported(row, name):
    """Return a figure in the recording's format: one text for all arenas."""
    if name not in ("system", "attached", "resident"):
        return row[name]
    return " ".join(row[f"{name}.{arena}"] for arena in range(int(row["arenas"])))


@pytest.mark.parametrize("case", CASES)
def test_each_address_arena_and_page_is_glibcs(case):
    model = replayed(case, "core")
    assert {event: (row, model[event]) for event, row in measured(case).items()} == {
        event: (row, row) for event, row in measured(case).items()
    }


@pytest.mark.parametrize(
    "case",
    [
        "2.36/heaps.w1.csv.zst",
        "2.36/tiny.w0.csv.zst",
        "2.41/large@mmap_threshold=65536.w1.csv.zst",
        "2.43/large@tcache_max=4000000.w1.csv.zst",
        "2.44/come_and_go.w1.csv.zst",
    ],
)
def test_the_reference_says_the_same(case):
    assert replayed(case, "reference") == replayed(case, "core")
