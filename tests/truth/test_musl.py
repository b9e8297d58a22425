"""The model of musl's malloc compared with recordings of the real one: tests/data/mallocs/musl.

At every event each figure is equal: the object's address, mapped and resident bytes, the bytes of
metadata, and the number of system calls.
"""

import csv
from pathlib import Path

import pytest
import zstandard
from placed import placed

from simalloc import read_trace
from simalloc.heap.running.setting import Setting
from simalloc.policy import find_policy

MEASURED = Path(__file__).parents[1] / "data" / "mallocs" / "musl"
PAGE = 4096
CASES = sorted(path.name.removesuffix(".csv.zst") for path in MEASURED.glob("*.csv.zst"))


def measured(case):
    """Return the library's results, one row per event."""
    with zstandard.open(MEASURED / f"{case}.csv.zst", "rt") as lines:
        return list(csv.DictReader(lines))


def replayed(case, engine):
    """Return the model's results, one row per event."""
    trace, _, unwritten = case.partition("@")
    setting = Setting.of(
        read_trace(MEASURED / f"{trace}.txt.zst"),
        find_policy("musl"),
        resident=True,
        writes=not unwritten,
        engine=engine,
    )
    return placed(setting)


def in_bytes(real):
    """Return the measurements with pages converted to bytes."""
    reported = {name: value for name, value in real.items() if value}
    if "resident" in reported:
        reported["resident"] = str(int(reported["resident"]) * PAGE)
    return reported


def differing(case, engine):
    """Return each row of the library that the model's row does not equal, with the model's row."""
    pairs = zip(map(in_bytes, measured(case)), replayed(case, engine), strict=True)
    return [(real, model) for real, model in pairs if not real.items() <= model.items()]


@pytest.mark.parametrize("case", CASES)
def test_each_figure_is_the_librarys(case):
    assert differing(case, "core") == []


@pytest.mark.parametrize("case", ["large", "realloc@unwritten"])
def test_the_reference_says_the_same(case):
    assert differing(case, "reference") == []
