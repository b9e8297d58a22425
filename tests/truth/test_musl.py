"""The model of musl's malloc against recordings of the real one: tests/data/mallocs/musl.

At every event each figure is the same: the object's address, mapped and resident bytes, the bytes
of metadata, and the number of system calls.
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
    """Return the library's results, a row per event."""
    with zstandard.open(MEASURED / f"{case}.csv.zst", "rt") as lines:
        return list(csv.DictReader(lines))


def replayed(case, engine):
    """Return the model's results, a row per event."""
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
    """Return the measurements, pages in bytes."""
    reported = {name: value for name, value in real.items() if value}
    if "resident" in reported:
        reported["resident"] = str(int(reported["resident"]) * PAGE)
    return reported


def differing(case, engine):
    """Return each row of the library's that the model's is not equal to, and the model's."""
    pairs = zip(map(in_bytes, measured(case)), replayed(case, engine), strict=True)
    return [(real, model) for real, model in pairs if not real.items() <= model.items()]


@pytest.mark.parametrize("case", CASES)
def test_each_figure_is_the_librarys(case):
    assert differing(case, "core") == []


@pytest.mark.parametrize("case", ["large", "realloc@unwritten"])
def test_the_reference_says_the_same(case):
    assert differing(case, "reference") == []
