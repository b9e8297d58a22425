"""The model of jemalloc compared with the real allocator: tests/data/mallocs/jemalloc.

At every event the location, every figure that the library reported, and the number of resident
pages are equal.
"""

import csv
from pathlib import Path

import pytest
import zstandard
from placed import placed

from simalloc import read_trace
from simalloc.heap.running.setting import Setting
from simalloc.policy import find_policy

MEASURED = Path(__file__).parents[1] / "data" / "mallocs" / "jemalloc"
PAGE = 4096
SETTINGS = {
    "S1": {"tcache": False, "dirty_decay_ms": 0, "cache_oblivious": False},
    "S1c": {"tcache": False, "dirty_decay_ms": 0},
    "S4": {"dirty_decay_ms": -1, "cache_oblivious": False},
    "S6": {},
    "S7": {"tcache": False, "dirty_decay_ms": 1000, "muzzy_decay_ms": 3000},
}
CASES = sorted(
    str(path.relative_to(MEASURED))
    for path in MEASURED.glob("5.*/*.csv.zst")
    if "pages" not in path.name
)
WITH_PAGES = ["5.3.0/t4_large.S1.csv.zst", "5.3.0/t4_large.S7.csv.zst"]


def table(name):
    """Return the rows of a table, without notes and the rows before the first event."""
    with zstandard.open(MEASURED / name, "rt") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    return [row for row in rows if int(row["event"]) > 0]


def replayed(case, engine="core", *, own=True, **options):
    """Return the model's results, one row per event."""
    version, name = case.removesuffix(".csv.zst").split("/")
    program, setting = name.split(".")
    trace = read_trace(MEASURED / f"{program}.txt.zst")
    threads = {"narenas": 3, "started_threads": 5} if trace.thread is not None else {"narenas": 1}
    # The recorded program read statistics after each event.
    known = {"version": version, "tick": 10**6, "stats": True}
    model = find_policy("jemalloc", **known, **threads, **SETTINGS[setting])
    return placed(Setting.of(trace, model, **options, engine=engine), own=own)


def differing(case, engine="core"):
    """Return each row of the library that the model's row does not equal, with the model's row.

    A row has fewer values than the table has columns if only the location was measured.
    """
    models = replayed(case, engine)
    starts = {}
    return [
        (real, model)
        for real, model in zip(table(case), models, strict=True)
        if not is_same(real, model, starts)
    ]


def is_same(real, model, starts):
    """Return whether two rows are equal; `starts` contains the known starts of mappings."""
    reported = {name: value for name, value in real.items() if value and name in model}
    if int(real.get("addr", "0"), 16) and model["map"]:
        start = int(real["addr"], 16) - int(model["offset"])
        if starts.setdefault(model["map"], start) != start:
            return False
    return reported.items() <= model.items()


@pytest.mark.parametrize("case", CASES)
def test_each_place_and_figure_is_the_librarys(case):
    assert differing(case) == []


@pytest.mark.parametrize(
    "case",
    ["5.3.0/t4_large.S7.csv.zst", "5.3.1/n1_bins.S6.csv.zst"]
    + [case for case in CASES if "/m" in case],
)
def test_the_reference_says_the_same(case):
    assert differing(case, "reference") == []


@pytest.mark.parametrize("case", WITH_PAGES)
def test_the_resident_pages_are_the_processs(case):
    rows = replayed(case, own=False, resident=True)
    for real in table(case.replace(".csv", ".pages.csv")):
        *_, mappings = real.values()
        pages = sum(int(part.split("=")[1]) for part in mappings.split(";") if part)
        assert int(rows[int(real["event"]) - 1]["resident"]) == pages * PAGE
