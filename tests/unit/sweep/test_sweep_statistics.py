"""Pivots, rankings and comparisons."""

import csv
import io
from itertools import product

import numpy as np
import pytest

from simalloc.errors import ResultsError, SimallocError
from simalloc.report import write_table
from simalloc.report.table import spell
from simalloc.report.units import percent
from simalloc.sweep import Results, compare
from simalloc.sweep.pivot import AVERAGE, DEVIATION
from simalloc.sweep.ranking import chances


def row(trace, policy, value, *, growth=4096, scale=16, code="1+a", error=None, **more):
    spelled = policy if growth == 4096 else f"{policy}:growth={growth}"
    return {
        "id": 1, "trace": trace, "trace_sha256": f"{trace:f>64}", "policy": spelled, "scale": scale,
        "realloc": "free-first", "code": code, "parameters": {"growth": growth},
        "finished": f"2026-01-0{len(code)}", "host": "h", "error": error,
        **{f"fragmentation_{number}": value for number in range(1, 5)},
        "peak_heap_bytes": 1000, "max_live_bytes": 900, **more,
    }  # fmt: skip


def grid(values, **options):
    """Return results of policies p0, p1 ... (rows) on traces t0, t1 ... (columns)."""
    return Results(
        row(f"t{t}", f"p{p}", value, **options)
        for p, line in enumerate(values)
        for t, value in enumerate(line)
    )


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.0026, "0.26"), (0.0998, "9.98"), (0.173, "17.3"), (1.62, "162"), (133.28, "13,328"),
     (0.0999949, "10.0"), (0.09999, "10.0"), (0.99996, "100"), (0.0, "0.00"), (-0.012345, "-1.23"),
     (0.00004, "0.00")],
)  # fmt: skip
def test_percentages_as_the_paper_prints_them(fraction, text):
    assert spell(percent(fraction)) == text


def test_a_pivot_for_people():
    table = grid([[0.10, 0.30], [0.00, 0.02]]).pivot(4).sorted_by("average").table()
    assert table.title == "Fragmentation #4, percent"
    assert table.columns == ("policy", "t0", "t1", "Average", "Std Dev")
    assert [[spell(cell) for cell in line] for line in table.rows] == [
        ["p1", "0.00", "2.00", "1.00", "1.41"],
        ["p0", "10.0", "30.0", "20.0", "14.1"],
        ["Average", "5.00", "16.0", "", ""],
        ["Std Dev", "7.07", "19.8", "", ""],
    ]
    assert any("t0@ffffffffffff" in note for note in table.notes)
    assert any("scale 16, realloc free-first, code 1+a" in note for note in table.notes)


def test_a_pivot_for_programs_carries_its_provenance_in_every_row():
    stream = io.StringIO()
    write_table(grid([[0.10, 0.30]]).pivot(4).table(full=True), "csv", stream)
    [line] = csv.DictReader(stream.getvalue().splitlines())
    assert line.pop("policy") == "p0"
    assert (line.pop("scale"), line.pop("realloc"), line.pop("code")) == ("16", "free-first", "1+a")
    assert float(line.pop(AVERAGE)) == pytest.approx(0.2)
    assert float(line.pop(DEVIATION)) == pytest.approx(0.1 * 2**0.5)
    assert line == {"t0@" + "f" * 12: "0.1", "t1@" + "f" * 12: "0.3"}


def test_gaps_stay_empty_and_so_do_averages_over_them():
    results = Results([*grid([[0.1, 0.2], [0.3, 0.4]])[:3], row("t1", "p1", None, error="no")])
    pivot = results.pivot(4)
    assert np.isnan(pivot.values).sum() == 1
    assert np.isnan(pivot.averages[1])
    table = pivot.sorted_by("average").table()
    assert [line[0] for line in table.rows] == ["p0", "p1", "Average", "Std Dev"]
    assert table.rows[1][3] is None
    assert table.rows[2][2] is None
    assert any("1 cell is empty" in note for note in table.notes)


def test_what_varies_is_a_column_and_never_mixed():
    results = Results([*grid([[0.1]]), *grid([[0.2]], scale=1), *grid([[0.3]], code="2+bc")])
    table = results.pivot(4).table()
    assert table.columns[:4] == ("policy", "scale", "code", "t0")
    assert len(table.rows) == 3 + 2


def test_two_traces_of_one_name_are_two_columns():
    rows = [row("t", "p", 0.1), {**row("t", "p", 0.2), "trace_sha256": "e" * 64}]
    assert Results(rows).pivot(4).table().columns[1:3] == ("t@eeeeeeeeeeee", "t@ffffffffffff")


def test_any_number_can_be_chosen_and_sorted_by():
    pivot = grid([[0.1, 0.5], [0.3, 0.2]], visited_mean=2.5).pivot("visited_mean")
    assert pivot.table().title == "Visited mean"
    assert pivot.values.tolist() == [[2.5, 2.5], [2.5, 2.5]]
    pivot = grid([[0.3, 0.1], [0.2, 0.5]]).pivot("4")
    assert [setting.policy for setting in pivot.sorted_by("t0").settings] == ["p1", "p0"]
    assert [setting.policy for setting in pivot.sorted_by("t1").settings] == ["p0", "p1"]
    assert [setting.policy for setting in pivot.sorted_by("policy").settings] == ["p0", "p1"]


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (lambda results: results.pivot("nonsense"), "no column 'nonsense'"),
        (lambda results: results.pivot("code"), "code does not contain numbers"),
        (lambda results: results.pivot(4).sorted_by("nonsense"), "cannot sort by 'nonsense'"),
        (lambda results: results.where(policy="nonsense").pivot(4), "no run is left to show"),
        (lambda results: results.where(nonsense="1"), "no column or parameter 'nonsense'"),
        (lambda results: results.where(trace="t0").rank(4), "at least two traces"),
        (lambda _: grid([[None, None]]).rank(4), "at least two traces"),
        (lambda results: results.rank(4, confidence=1.5), "between 0 and 1"),
        (lambda results: results.rank(4, resamples=0), "at least 1"),
        (lambda results: results.timeline(results[0]), "not read from a file"),
    ],
)
def test_what_cannot_be_shown_is_said(ask, reason):
    with pytest.raises(ResultsError, match=reason):
        ask(grid([[0.1, 0.2]]))


def test_where_takes_patterns_numbers_sizes_and_the_latest_code():
    results = Results([*grid([[1, 2], [3, 4]]), *grid([[5, 6]], growth=65536, code="2+bc")])
    assert len(results.where(policy="p0*")) == 4
    assert len(results.where(policy="p0", trace="t1")) == 1
    assert len(results.where(growth="64K")) == len(results.where(growth=65536)) == 2
    assert len(results.where(scale="16")) == 6
    latest = {(found["policy"], found["code"]) for found in results.where(code="latest")}
    assert latest == {("p0:growth=65536", "2+bc"), ("p1", "1+a")}, (
        "each policy has a code of its own"
    )
    assert len(results.where(growth="nonsense")) == 0


def slow_chances(values):
    """Return the chances by brute force, with Student's t."""
    pairs = list(product(range(len(values)), repeat=2))

    def t(pair, signs):
        difference = (values[pair[0]] - values[pair[1]]) * signs
        deviation = difference.std(ddof=1)
        mean = abs(difference.mean())
        return (mean / deviation if deviation > 1e-12 else np.inf) if mean > 1e-12 else 0.0

    every = [np.array(signs) for signs in product((1, -1), repeat=values.shape[1])]
    largest = np.array([max(t(pair, signs) for pair in pairs) for signs in every])
    observed = [t(pair, np.ones(values.shape[1])) for pair in pairs]
    return np.array([(largest >= x * (1 - 1e-9)).mean() for x in observed]).reshape(len(values), -1)


def test_chances_are_those_of_a_randomisation_test_with_the_largest_t():
    values = np.random.default_rng(3).normal([[0], [0.3], [2]], 1, (3, 6))
    np.testing.assert_allclose(chances(values), slow_chances(values))


def test_drawn_signs_come_near_all_signs(monkeypatch):
    values = np.random.default_rng(4).normal([[0], [0.5], [1]], 1, (3, 12))
    exact = chances(values)
    monkeypatch.setattr("simalloc.sweep.ranking.EXACT_PROGRAMS", 3)
    np.testing.assert_allclose(chances(values), exact, atol=0.03)


def test_no_difference_is_chance_and_a_constant_one_is_not():
    values = np.vstack([np.arange(10.0), np.arange(10.0), np.arange(10.0) + 1])
    found = chances(values)
    assert found[0, 1] == 1
    assert found[0, 2] == found[1, 2] == pytest.approx(2 / 2**10)


def test_a_ranking_says_what_it_cannot_tell_apart():
    draw = np.random.default_rng(5)
    traces = draw.exponential(1, 12)
    ranking = grid([traces + 3, traces, traces + draw.normal(0, 0.01, 12)]).rank(4)
    rows = ranking.table().rows
    assert [line[1] for line in rows][-1] == "p0"
    assert [line[-1] for line in rows] == ["2", "1", ""]
    assert all(line[3] <= line[2] <= line[4] for line in rows)


def test_few_traces_tell_nothing_and_the_ranking_says_so():
    ranking = grid([[1.0, 2, 3], [11, 12, 13]]).rank(4)
    assert ranking.alike(0) == [1]
    assert any("no difference can be significant" in note for note in ranking.table().notes)


def test_a_ranking_leaves_out_what_not_all_have():
    full = grid([[1.0, 2, 3], [2, 3, 4], [5, 6, 7]])
    rows = [found for found in full if found["policy"] != "p2" or found["trace"] == "t0"]
    gone = [row(f"t{t}", "p3", None, error="no") for t in range(3)]
    ranking = Results([*rows[:-1], *rows[-1:], *gone, row("t3", "p0", 1.0)])
    with pytest.raises(ResultsError, match="at least two traces"):
        ranking.rank(4)
    ranking = Results(
        [*[x for x in rows if x["policy"] != "p2"], *gone, row("t3", "p0", 1.0)]
    ).rank(4)
    assert [setting.policy for setting in ranking.pivot.settings] == ["p0", "p1"]
    assert [label.partition("@")[0] for label in ranking.dropped] == ["t3"]


def seeded(values, *, of="one"):
    """Return results like `grid`, in which every trace is another seed of one program."""
    return Results(
        {**found, "program": of, "seed": int(found["trace"][1:])} for found in grid(values)
    )


def test_seeds_of_one_program_are_no_programs():
    ranking = seeded([[1.0, 2, 3, 4, 5, 6, 7, 8], [11, 12, 13, 14, 15, 16, 17, 18]]).rank(4)
    assert ranking.programs == 1
    assert ranking.alike(0) == [1]
    assert ranking.table().rows[0][3:5] == (None, None)
    assert any("one program says nothing about others" in x for x in ranking.table().notes)


def test_every_program_has_the_same_weight_however_many_seeds_it_has():
    seeds = seeded([[1.0, 3, 1, 3], [10, 10, 10, 10]])
    one = (
        {**row("t9", "p0", 100.0), "program": "another"},
        {**row("t9", "p1", 4.0), "program": "another"},
    )
    ranking = Results([*seeds, *one]).rank(4)
    assert [setting.policy for setting in ranking.pivot.settings] == ["p1", "p0"]
    assert ranking.averages.tolist() == [7, 51]
    assert ranking.programs == 2
    frame = pytest.importorskip("pandas") and ranking.to_pandas()
    assert frame["average"].tolist() == [7, 51]


def test_programs_and_seeds_are_columns_to_choose_by():
    results = seeded([[1.0, 3], [10, 10]])
    assert len(results.where(seed=1)) == len(results.where(seed="1")) == 2
    assert len(results.where(program="o*")) == 4


def test_a_comparison_pairs_what_is_alike():
    a = grid([[0.10, 0.20], [0.30, 0.40]])
    b = Results([*grid([[0.10, 0.25]], code="2+bc"), row("t9", "p0", 1.0)])
    comparison = compare(a, b)
    assert len(comparison.pairs) == 2
    assert len(comparison.only_a) == 2
    assert [found["trace"] for found in comparison.only_b] == ["t9"]
    table = comparison.table()
    assert [[spell(cell) for cell in line] for line in table.rows] == [
        ["t1", "p0", "20.0", "25.0", "5.00"]
    ]
    assert len(comparison.table(every=True).rows) == 2
    assert any("2.50 points" in note for note in table.notes)


def test_a_comparison_of_parameters_and_of_policies():
    a, b = grid([[0.1, 0.2]]), grid([[0.3, 0.2]], growth=65536)
    assert compare(a, b).pairs == ()
    assert len(compare(a, b, ignore=("code", "growth")).changed) == 1
    assert len(compare(a, b, ignore=("parameters",)).pairs) == 2
    both = grid([[0.1], [0.4]])
    other = compare(both.where(policy="p0"), both.where(policy="p1"), ignore=("policy",))
    assert other.table().columns == ("trace", "policy of A", "policy of B", "A", "B", "B - A")
    with pytest.raises(ResultsError, match="differ only in policy"):
        compare(both, both, ignore=("policy",))
    with pytest.raises(
        ResultsError, match="no run has 'growht', so it cannot be ignored; choose among code, "
    ):
        compare(both, both, ignore=("growht",))


def test_a_figure_that_is_gone_is_a_change():
    comparison = compare(grid([[0.1, 0.2]]), grid([[None, 0.2]]))
    assert len(comparison.changed) == 1
    assert comparison.table().rows[0][-1] is None


def test_data_frames_and_html():
    pd = pytest.importorskip("pandas")
    results = grid([[0.1, 0.2]])
    frame = results.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["fragmentation_4"].tolist() == [0.1, 0.2]
    assert results.pivot(4).to_pandas().shape == (1, 8)
    for shown in (results, results.pivot(4), results.rank(4), compare(results, results)):
        assert shown._repr_html_().startswith("<table>")


def test_without_pandas_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(SimallocError, match=r"simalloc\[frame\]"):
        grid([[0.1]]).to_pandas()
