"""The model of mimalloc compared with recordings of the real one: tests/data/mallocs/mimalloc.

At every event the address and the mapped and committed bytes are equal. Resident memory equals the
process's, except for one page of the library's own data. In 2.0.9, it also excludes a second page
when the library caches a segment for the first time.
"""

import csv
from pathlib import Path

import pytest
import zstandard
from placed import placed

from simalloc import read_trace
from simalloc.heap.running.setting import Setting
from simalloc.policy import find_policy

MEASURED = Path(__file__).parents[1] / "data" / "mallocs" / "mimalloc"
PAGE = 4096
SETTINGS = {
    "": {},
    "def": {},
    "ms1": {"tick": 10**6},
    "pd0": {"purge_delay": 0},
    "thp0ms1": {"allow_thp": 0, "tick": 10**6},
    "thp0pd0": {"allow_thp": 0, "purge_delay": 0},
    "ret0": {"page_full_retain": 0},
    "gc1000": {"generic_collect": 1000},
    "d0": {"decommit_delay": 0},
    "reserve": {"reserve_os_memory": "1G"},
    "dd0": {"decommit_delay": 0, "segment_decommit_delay": 0},
}
CASES = sorted(str(path.relative_to(MEASURED)) for path in MEASURED.glob("*/*.csv.zst"))
THREADED = ["2.0.9/mt2@dd0.csv.zst", "3.6.0/al3.csv.zst", "3.6.0/mt2.csv.zst"]
BRIEF = [case for case in CASES if case.split("/")[1].startswith(("collect@", "end@", "huge@"))]


def measured(case):
    """Return the library's results, one row per event, and its addresses as model parameters."""
    with zstandard.open(MEASURED / case, "rt") as lines:
        if case.startswith("2."):
            return list(csv.DictReader(lines)), {}
        stated = dict(word.split("=") for word in next(lines).split()[3:])
        delta = stated["hint_delta_mib"].replace("any", "128")
        place = {"base": int(stated["base"], 16), "hint_delta": f"{delta}M"}
        return list(csv.DictReader(lines)), place


def pairs(case, engine):
    """Return the library's row and the model's row for each event."""
    version, name = case.removesuffix(".csv.zst").split("/")
    program, _, setting = name.partition("@")
    expected, place = measured(case)
    model = find_policy("mimalloc", version=version, **SETTINGS[setting], **place)
    trace = read_trace(MEASURED / f"{program}.txt.zst")
    rows = placed(Setting.of(trace, model, resident=True, engine=engine))
    return list(zip(expected, rows, strict=True))


def is_same(real, model):
    reported = {name: value for name, value in real.items() if value and name != "rss_anon"}
    return reported.items() <= model.items()


@pytest.mark.parametrize("case", [case for case in CASES if case not in THREADED])
def test_each_address_and_figure_is_the_librarys(case):
    assert [pair for pair in pairs(case, "core") if not is_same(*pair)] == []


@pytest.mark.parametrize("case", [*THREADED, *BRIEF, "3.6.0/large@pd0.csv.zst"])
def test_the_reference_says_the_same(case):
    assert [pair for pair in pairs(case, "reference") if not is_same(*pair)] == []


@pytest.mark.parametrize(
    "case", [case for case in CASES if "@" in case and case not in (*THREADED, *BRIEF)]
)
def test_resident_memory_is_the_processs(case):
    apart = [
        (int(model["resident"]) - int(real["rss_anon"])) // PAGE
        for real, model in pairs(case, "core")
        if real.get("rss_anon")
    ]
    assert set(apart) <= {-2, -1}
    if case.startswith("2."):
        assert apart == sorted(apart, reverse=True)
