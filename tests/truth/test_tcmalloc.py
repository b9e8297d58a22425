"""The model of tcmalloc compared with the real one: tests/data/mallocs/tcmalloc.

At every event the address, every figure that the library reported, and resident memory are equal.
"""

import csv
from pathlib import Path

import pytest
import zstandard
from placed import placed

from simalloc import read_trace
from simalloc.heap.running.setting import Setting
from simalloc.policy import find_policy

MEASURED = Path(__file__).parents[1] / "data" / "mallocs" / "tcmalloc"
BEFORE = 9 << 20
"""Bytes mapped before the first event: a block of metadata, and the first growth."""
WRITTEN_BEFORE = 522 * 4096
"""Bytes resident before the first event: a page table, and the first record of each kind."""
SETTINGS = {"": {}, "aggr": {"aggressive_decommit": True}, "rate100": {"release_rate": 100.0}}
CASES = sorted(str(path.relative_to(MEASURED)) for path in MEASURED.glob("2.*/*.csv.zst"))


def measured(case):
    """Return the library's results, one row per event."""
    with zstandard.open(MEASURED / case, "rt") as lines:
        return list(csv.DictReader(lines))


def replayed(case, engine):
    """Return the model's results, one row per event."""
    version, name = case.removesuffix(".csv.zst").split("/")
    program, _, setting = name.partition("@")
    model = find_policy("tcmalloc", version=version, **SETTINGS[setting])
    trace = read_trace(MEASURED / f"{program}.txt.zst")
    writes = program != "huge"
    return placed(Setting.of(trace, model, resident=True, writes=writes, engine=engine))


def differing(case, engine):
    """Return each row of the library that the model's row does not equal, with the model's row.

    A row has fewer values than the table has columns if only the address was measured.
    """
    pairs = zip(measured(case), replayed(case, engine), strict=True)
    return [(real, model) for real, model in pairs if not is_same(real, model)]


def is_same(real, model):
    reported = {name: value for name, value in real.items() if value and name != "rss_anon"}
    if "mapped" in reported:
        reported["mapped"] = str(int(reported["mapped"]) + BEFORE)
    return reported.items() <= model.items()


@pytest.mark.parametrize("case", CASES)
def test_each_address_and_figure_is_the_librarys(case):
    assert differing(case, "core") == []


@pytest.mark.parametrize("case", ["2.10/al1.csv.zst", "2.18/huge@aggr.csv.zst", "2.18/mt2.csv.zst"])
def test_the_reference_says_the_same(case):
    assert differing(case, "reference") == []


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("2.10/")])
def test_resident_memory_is_the_processs(case):
    pairs = zip(measured(case), replayed(case, "core"), strict=True)
    apart = {
        int(model["resident"]) - int(real["rss_anon"])
        for real, model in pairs
        if real.get("rss_anon")
    }
    assert apart <= {WRITTEN_BEFORE}
