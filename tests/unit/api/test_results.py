"""Collections of runs, and objects with a display in notebooks."""

import re

import numpy as np
import pytest

import simalloc
from simalloc.errors import SimallocError
from simalloc.report.looks import tables_of
from simalloc.report.runs import flat_record
from simalloc.trace import Op, Trace

PNG = b"\x89PNG\r\n"


def made(name, seed):
    random = np.random.default_rng(seed)
    order = random.permutation(200)
    op = np.repeat([Op.MALLOC, Op.FREE], 200)
    sizes = np.r_[random.integers(1, 900, 200), order * 0]
    return Trace.from_events(op, np.r_[np.arange(200), order], sizes, name=name)


TRACES = [made("<a&b>", 0), made("other", 1), made("third", 2)]
RUNS = simalloc.simulate_all(TRACES[0], ["first-fit-*", "simple-seg-2n", "best-fit-ao"])


def test_a_trace_may_be_given_by_name_by_path_or_as_it_is(tmp_path):
    path = tmp_path / "mine.npz"
    simalloc.write_trace(TRACES[0], path)
    log = tmp_path / "log.txt"
    log.write_text("m 1 10\nf 1\n")
    runs = [simalloc.simulate(one, "first-fit-ao") for one in (TRACES[0], path, str(path))]
    assert runs[0] == runs[1] == runs[2]
    assert simalloc.simulate(log, simalloc.find_policy("first-fit-ao")).events == 2
    assert len(simalloc.read_trace("p2c")) == simalloc.traces()["p2c"].totals.events
    assert simalloc.read_trace(TRACES[0]) is TRACES[0]


def test_runs_are_found_by_place_and_policy():
    assert RUNS["first-fit-ao"].policy.name == "first-fit-ao"
    assert RUNS[0] is RUNS[:2][0]
    assert len(RUNS[1:] + RUNS[:1]) == len(RUNS)
    with pytest.raises(SimallocError, match="but none is given"):
        _ = RUNS["lea-2.6.1"]
    with pytest.raises(SimallocError, match="but 2 are given"):
        _ = (RUNS + RUNS)["best-fit-ao"]


def test_runs_are_sorted_by_any_column():
    values = [simalloc.fragmentation(run)[4] for run in RUNS.sorted()]
    assert values == sorted(values)
    splits = [run.counters.splits for run in RUNS.sorted("splits", reverse=True)]
    assert splits == sorted(splits, reverse=True)
    nothing = Trace.from_events([], [], [])
    both = simalloc.simulate_all(nothing, "best-fit-ao") + simalloc.simulate_all(
        TRACES[0], "best-fit-ao"
    )
    assert [len(runs) for runs in (both.sorted("#1"), both.sorted("#1", reverse=True))] == [2, 2]
    assert both.sorted("#1", reverse=True)[1].events == 0  # undefined values are last
    with pytest.raises(SimallocError, match="unknown column 'nonsense'; choose one of #1"):
        RUNS.sorted("nonsense")


def test_runs_become_a_data_frame():
    frame = RUNS.to_pandas()
    assert list(frame["policy"]) == [run.policy.name for run in RUNS]
    assert frame["fragmentation_4"][0] == pytest.approx(simalloc.fragmentation(RUNS[0])[4])


NO_FIGURES = {"policy", "realloc", "found", "threads", "trace_threads"}
"""Columns whose text or meaning differs from the attribute of the same name."""


@pytest.mark.parametrize("policy", ["first-fit-ao", "best-possible"])
def test_every_figure_of_a_data_frame_is_an_attribute_of_the_run(policy):
    run = simalloc.simulate(TRACES[0], policy, resident=True, largest_free=True)
    row = flat_record(run)
    assert {"fragmentation_4", "splits", "visited_mean", "bound_bytes"} <= row.keys()
    for name in row.keys() - NO_FIGURES:
        value = getattr(run, name)
        defined = None if isinstance(value, float) and np.isnan(value) else value
        assert defined == row[name], name


def test_a_figure_that_was_not_measured_says_how_to_measure_it():
    with pytest.raises(SimallocError, match="simulate with largest_free=True"):
        _ = RUNS[0].min_largest_free_bytes


def test_policies_may_be_patterns_and_grids():
    runs = simalloc.simulate_all(TRACES[:2], {"first-fit-ao": {"growth": ["4K", "64K"]}})
    assert [(run.trace, run.policy.parameters["growth"]) for run in runs] == [
        (trace.name, growth) for trace in TRACES[:2] for growth in (4096, 65536)
    ]


class FirstFit(simalloc.UserPolicy):
    """First fit, in Python."""

    def malloc(self, heap, size):
        return heap.split(heap.first_fit(size) or heap.grow(size, 4096), size)

    def free(self, heap, block):
        heap.insert(heap.merge(block))


def test_a_policy_in_python_stands_beside_the_others():
    runs = simalloc.simulate_all(TRACES[0], [FirstFit, "first-fit-ao"])
    assert simalloc.simulate(TRACES[0], FirstFit()) == runs[0]
    assert runs[FirstFit] == runs["FirstFit"]
    assert runs["FirstFit"].peak_heap_bytes == runs["first-fit-ao"].peak_heap_bytes
    assert "FirstFit" in runs._repr_html_()
    assert "FirstFit" in runs[0].policy._repr_html_()
    picture = simalloc.draw_heap_maps(TRACES[0], FirstFit, named=2)
    assert "FirstFit" in picture.axes[0].get_title("left")
    assert len(simalloc.pins(TRACES[0], FirstFit, most=3).alone) == 3
    assert "400 events, all sound" in str(simalloc.check(FirstFit, TRACES[0]))


def test_a_malloc_that_maps_all_apart_has_a_map_too():
    whole = simalloc.draw_heap_maps(TRACES[0], "jemalloc").axes[0]
    assert "not shown" not in whole.get_title("left")
    window = simalloc.draw_heap_maps(TRACES[0], "jemalloc", events=(50, 300)).axes[0]
    assert "not shown" in window.get_title("left")


THINGS = {
    "trace": TRACES[0],
    "statistics": simalloc.describe(TRACES[0]),
    "run": RUNS[0],
    "runs": RUNS,
    "runs in a table": RUNS.table(),
    "policy": simalloc.find_policy("lea-2.6.1"),
    "policies": simalloc.policies(),
    "traces": simalloc.traces(),
    "fragmentation": simalloc.fragmentation(RUNS[0]),
    "pins": simalloc.pins(TRACES[0], "first-fit-lifo"),
    "results": simalloc.run_sweep(TRACES[:2], "best-fit-ao"),
    "pivot": simalloc.run_sweep(TRACES[:2], "best-fit-ao").pivot(),
}


@pytest.mark.parametrize("thing", THINGS.values(), ids=THINGS)
def test_things_show_themselves_as_tables(thing):
    shown = thing._repr_html_()
    assert shown.startswith("<table>")
    assert shown.count("<table>") == shown.count("</table>") > 0
    assert "<a&b>" not in shown  # names of traces are escaped
    assert not re.search(r"\bnan\b", shown)


def test_what_nobody_knows_how_to_show_is_an_error():
    with pytest.raises(TypeError, match="object cannot be shown as a table"):
        tables_of(object())


PICTURES = {
    "map": lambda: simalloc.heap_map(TRACES[0], "first-fit-lifo"),
    "maps": lambda: simalloc.draw_heap_maps(
        TRACES[0], ["first-fit-lifo", "first-fit-ao"], named=3, events=(50, 300)
    ),
    "timelines": lambda: simalloc.draw_timelines(RUNS, theme="dark"),
    "visits": lambda: simalloc.draw_visits(RUNS[0]),
    "pages": lambda: simalloc.draw_pages(
        simalloc.simulate_all(TRACES[0], "best-fit-*", occupied=(4096,))
    ),
    "lives": lambda: simalloc.draw_lives(TRACES[0]),
    "threads": lambda: simalloc.draw_threads("zstd"),
    "portrait": lambda: simalloc.draw_portrait(TRACES[0], theme="dark"),
    "free": lambda: simalloc.draw_free_sizes(TRACES[0], "first-fit-lifo"),
    "ranking": lambda: simalloc.draw_ranking(RUNS),
    "fragmentation": lambda: simalloc.draw_fragmentation(RUNS, 1),
    "fragmentation of results": lambda: simalloc.draw_fragmentation(
        simalloc.run_sweep([*TRACES[:2], made("other", 9)], "best-fit-*")
    ),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_things_show_themselves_as_pictures(draw):
    image, size = draw()._repr_png_()
    assert image.startswith(PNG)
    assert len(image) < 100_000
    assert size["width"] == 672


def test_results_are_ranked_as_their_runs_are():
    runs = simalloc.simulate_all(TRACES, ["best-fit-ao", "first-fit-lifo"])
    results = simalloc.run_sweep(TRACES, ["best-fit-ao", "first-fit-lifo"])
    shown = [simalloc.draw_ranking(one)._repr_png_() for one in (runs, results)]
    assert shown[0] == shown[1]


def test_all_take_a_trace_by_its_name():
    assert simalloc.describe("make") == simalloc.describe(simalloc.read_trace("make"))
    start = simalloc.workload("hyper").prefix(50)
    assert simalloc.check(FirstFit, start, progress=False).run.events == 50
    with pytest.raises(SimallocError, match="neither a file nor a trace"):
        simalloc.check(FirstFit, "no such trace")


@pytest.mark.parametrize("policy", [None, 5, []])
def test_what_is_no_policy_is_said_to_be_none(policy):
    with pytest.raises(SimallocError, match="is not a policy"):
        simalloc.simulate(TRACES[0], policy)


@pytest.mark.parametrize("rule", ["foo", 3, []])
def test_a_realloc_rule_that_there_is_not_is_an_error(rule):
    with pytest.raises(SimallocError, match="choose one of free-first, move, in-place"):
        simalloc.simulate(TRACES[0], "first-fit-ao", realloc=rule)


def test_parameters_are_columns_of_frames(tmp_path):
    pytest.importorskip("pandas")
    policies = {"first-fit-ao": {"growth": ["1K", "4K"]}, "kingsley": {}}
    runs = simalloc.simulate_all(TRACES[0], policies).to_pandas()
    rows = simalloc.run_sweep(TRACES[0], policies, results=tmp_path / "r.sqlite").to_pandas()
    for frame in (runs, rows):
        assert "parameters" not in frame
        sequential = frame[frame["policy"].str.startswith("first-fit-ao")]
        assert sorted(sequential["growth"]) == [1024, 4096], "the default is there too"
        assert set(sequential["order"]) == {"ao"}
        assert frame[frame["policy"] == "kingsley"]["order"].isna().all()
