"""The explorer: its script's data, and its static picture."""

import base64
import subprocess
import sys

import numpy as np
import pytest

import simalloc
from simalloc.heap import simulate
from simalloc.measure import atlas
from simalloc.measure.folded_map import folded_map
from simalloc.report.explore.explored import OVERVIEW, Explored
from simalloc.trace import Op, Trace
from simalloc.trace.catalogue import load

M, F, R = Op.MALLOC, Op.FREE, Op.REALLOC


def explored(trace, policy="first-fit-lifo", **how):
    return Explored(trace, atlas(trace, simulate(trace, policy, addresses=True, **how)))


@pytest.fixture(scope="module")
def cfrac():
    return explored(load("cfrac").prefix(20_000))


def test_a_window_is_two_planes_of_bytes_within_the_map(cfrac):
    given = {"left": -50, "right": 1e9, "low": -3, "high": 1e12, "columns": 300, "rows": 100}
    answer, (planes,) = cfrac.window(**given, oldest=20_000)
    shape = answer["raster"]
    assert len(planes) == 2 * shape["columns"] * shape["rows"]
    assert len(shape["heap"]) == shape["columns"] <= 300
    assert shape["columns"] * shape["cellEvents"] >= 20_000
    assert shape["rows"] * shape["cellBytes"] >= cfrac.run.peak_heap_bytes


@pytest.mark.parametrize("view", [(0, 0, 0, 0), (5, 3, 9, 2), (1e9, 2e9, 1e15, 1e16)])
def test_a_view_of_nothing_is_answered_too(cfrac, view):
    names = ("left", "right", "low", "high")
    given = dict(zip(names, view, strict=True), columns=0, rows=10**9)
    answer, (planes,) = cfrac.window(**given, oldest=10.0)
    assert len(planes) == 2 * answer["raster"]["columns"] * answer["raster"]["rows"]


def test_a_block_says_its_object_size_age_and_call_site():
    sites = {"sites": ["", "make_node", "grow"]}
    trace = Trace.from_events(
        [M, M, R, F], [0, 1, 1, 0], [40, 24, 16, 0], site=[1, 1, 2, 0], provenance=sites
    )
    one = explored(trace, scale=1, realloc="in-place")
    (answer, _) = one.block(event=3.7, address=44.0, near=0.0)
    assert answer["block"] == {
        "object": 1, "address": 40.0, "size": 16, "since": 2, "until": 4, "age": 2, "site": "grow",
    }  # fmt: skip
    assert one.block(event=3.0, address=4.0, near=0.0)[0]["block"] is None
    assert one.block(event=-7, address=4.0, near=0.0)[0]["block"]["site"] == "make_node"


def test_the_pins_are_those_of_the_peak(cfrac):
    answer, _ = cfrac.pins()
    expected = simalloc.pins(cfrac.trace, "first-fit-lifo")
    assert (answer["event"], answer["heap"]) == (expected.event, expected.heap_bytes)
    assert [pin["object"] for pin in answer["pins"]] == [pin.object for pin in expected.alone]
    stays = cfrac.atlas.stays
    for pin in answer["pins"]:
        ends = stays.until[(stays.object == pin["object"]) & (stays.since == pin["since"])]
        assert pin["until"] == ends[0] > expected.event


def test_the_caption_says_what_the_map_has_no_place_for():
    trace = Trace.from_events([M, M], [0, 1], [100, 1 << 20])
    note = "not shown: up to 1 MiB mapped apart"
    caption = explored(trace, "dlmalloc-2.8.6").state(10.0, 1.0)["caption"]
    assert caption.startswith("peak heap ")
    assert caption.endswith(f" more than peak live; {note}")
    assert note not in explored(trace, "first-fit-ao").state(10.0, 1.0)["caption"]


def test_a_trace_without_events_can_be_looked_at():
    one = explored(Trace.from_events([], [], []))
    assert one.pins()[0]["pins"] == []
    assert one.block(event=0, address=0, near=5)[0]["block"] is None


@pytest.fixture(scope="module")
def explorer():
    pytest.importorskip("anywidget", reason="the explorer needs the extra `notebook`")
    return simalloc.explore(load("make").prefix(3_000), ["first-fit-lifo", "best-fit-ao"])


def test_where_no_script_runs_there_is_a_picture(explorer):
    data, _ = explorer._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == explorer.model_id
    assert data["text/plain"] == "<Explorer of make: first-fit-lifo, best-fit-ao>"


def test_maps_that_are_compared_share_their_scales(explorer):
    one, other = explorer.maps
    assert one["top"] == other["top"] >= max(one["raster"]["heap"] + other["raster"]["heap"])
    assert one["oldest"] == other["oldest"]


def test_each_question_is_answered_for_its_map_and_by_its_number(explorer, monkeypatch):
    sent = []
    monkeypatch.setattr(type(explorer), "send", lambda _, *answer: sent.append(answer))
    window = {"left": 0, "right": 3000, "low": 0, "high": 1e6, "columns": 40, "rows": 20}
    for number, (ask, given) in enumerate([
        ("window", window), ("block", {"event": 9, "address": 0, "near": 1}), ("pins", {}),
    ]):  # fmt: skip
        explorer._asked(explorer, {"number": number, "map": 1, "ask": ask, "given": given}, [])
    assert [answer["number"] for answer, _ in sent] == [0, 1, 2]
    assert "raster" in sent[0][0]
    assert sent[1][0]["block"]["object"] == 0
    assert sent[2][0]["event"] == simalloc.pins(explorer._runs[1].trace, "best-fit-ao").event


def test_the_extra_is_named_where_it_is_missing_before_any_work():
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "import simalloc\n"
        "try: simalloc.explore('no-such-trace', 'best-fit-ao')\n"
        "except simalloc.SimallocError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "explore needs anywidget: pip install 'simalloc[notebook]'\n"


def test_planes_hold_share_and_age():
    trace = Trace.from_events([M, F, M], [0, 0, 1], [16, 0, 8])
    one = explored(trace, scale=1)
    answer, (planes,) = one.window(0, 3, 0, one.run.peak_heap_bytes, 3, 10_000, oldest=10.0)
    shape = answer["raster"]
    share, age = np.frombuffer(planes, np.uint8).reshape(2, shape["rows"], shape["columns"])
    assert share[0].tolist() == [255, 0, 255]
    assert age[0, 1] == 0
    assert share[12].tolist() == [255, 0, 0]


def test_memory_that_is_mapped_apart_is_folded_and_has_pins():
    pytest.importorskip("anywidget", reason="the explorer needs the extra `notebook`")
    trace = load("make").prefix(3_000)
    (one,) = simalloc.explore(trace, "jemalloc")._runs
    columns, rows = OVERVIEW
    expected, _ = folded_map(trace, one.run, columns=columns, rows=rows, named=0)
    for name in ("live", "age", "heap", "mapped"):
        np.testing.assert_array_equal(getattr(one.overview, name), getattr(expected, name))
    answer, _ = one.pins()
    assert answer["pins"]
    for pin in answer["pins"]:
        found, _ = one.block(answer["event"], pin["address"], near=0.0)
        assert found["block"]["object"] == pin["object"]
    high, _ = one.window(0, 3000, 0, 1e15, 10, 10, oldest=10.0)
    assert high["raster"]["cellBytes"] * high["raster"]["rows"] >= one.atlas.height
