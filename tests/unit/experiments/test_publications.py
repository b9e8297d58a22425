"""The papers' figures as data files, and tables of them beside measured ones."""

import pytest

from experiments.comparison import Comparison
from experiments.detlefs.behaviour import BUFFER, with_buffers
from experiments.detlefs.paper import PAPER as DETLEFS
from experiments.detlefs.paper import relative
from experiments.detlefs.units import quotients_met
from experiments.gabber.bounds import best_fit_bound, first_fit_bound
from experiments.gabber.paper import OF_BYTES, OF_OBJECTS
from experiments.gabber.paper import PAPER as GABBER
from experiments.output import Exhibit, fill_page, listed
from simalloc.report import Table
from simalloc.report.table import spell
from simalloc.trace import Trace

AVERAGE = "AVERAGE"


@pytest.mark.parametrize("number", [4, 5, 6, 7, 8, 9, 10])
def test_detlefs_relative_figures_are_the_absolute_ones_over_ultrix(number):
    table = DETLEFS.table(number)
    for row in table.rows:
        if row == AVERAGE:
            continue
        base = table.cells[row]["ultrix"]
        for policy in DETLEFS.policies:
            own, quotient = (table.cells[row][name] for name in (policy, relative(policy)))
            least = (own.value - own.half_unit) / (base.value + base.half_unit)
            most = (own.value + own.half_unit) / (base.value - base.half_unit)
            slack = quotient.half_unit + 0.01
            assert least - slack <= quotient.value <= most + slack, (row, policy)


@pytest.mark.parametrize("number", [9, 10])
def test_detlefs_averages_are_those_of_the_columns(number):
    table = DETLEFS.table(number)
    for policy in DETLEFS.policies:
        values = [table.cells[row][policy].value for row in table.rows if row != AVERAGE]
        printed = table.cells[AVERAGE][policy]
        assert sum(values) / len(values) == pytest.approx(printed.value, abs=2 * printed.half_unit)


def test_detlefs_table_9_counts_in_units_of_1024():
    assert quotients_met(1024) == (55, 55)
    assert quotients_met(1000) == (0, 55)


@pytest.mark.parametrize("number", [1, 2])
def test_gabbers_shares_add_up_to_all(number):
    table = GABBER.table(number)
    for column in (OF_OBJECTS, OF_BYTES):
        assert sum(table.cells[row][column].value for row in table.rows) == pytest.approx(
            100, abs=0.01
        )


@pytest.mark.parametrize(("number", "live"), [(3, 217.4), (4, 132.9)])
def test_gabbers_percentages_are_heap_over_live_but_for_two(number, live):
    table, others = GABBER.table(number), []
    for row in table.rows:
        if table.cells[row]:
            heap, percent = (table.cells[row][name].value for name in table.columns[:2])
            if 100 * (heap / live - 1) != pytest.approx(percent, abs=0.1):
                others.append(row)
    assert others == (["solaris-default", "csri-1.18"] if number == 3 else [])


def test_gabbers_overflow_is_no_figure():
    assert not GABBER.table(3).cells["solaris-3x"]


@pytest.mark.parametrize("paper", [DETLEFS, GABBER])
def test_names_go_both_ways(paper):
    for name in (*paper.programs, *paper.policies):
        assert paper.name(paper.label(name)) == name
    assert paper.name("anything else") == "anything else"


def test_a_comparison_has_three_lines_a_row():
    table = DETLEFS.table(9)
    compared = Comparison(
        table, {"gawk": {"ultrix": 80.4}}, "", DETLEFS.label, ("gawk",), ("ultrix", "g++-2.5")
    )
    assert [[spell(value) for value in row] for row in compared.table().rows] == [
        ["GAWK: published", "79", "64"],
        ["here", "80", ""],
        ["difference", "+1", ""],
    ]
    assert compared.pairs() == [("gawk", "ultrix", 79, 80.4)]


def test_buffers_stand_in_front_of_the_trace():
    trace = with_buffers(Trace.from_events([0, 2], [7, 7], [10, 0]), 2)
    assert trace.size.tolist() == [BUFFER, BUFFER, 10, 0]
    assert trace.object.tolist() == [0, 1, 2, 2]


def test_robsons_bounds_are_those_of_the_paper():
    assert first_fit_bound(100, 64, 8) == 300, "M log2 n, n in units of 8 bytes"
    assert best_fit_bound(100, 64, 8) == 800, "M n"


def test_a_page_has_facts_and_tables_in_lines_of_equal_length(tmp_path):
    words = tmp_path / "words.md"
    words.write_text("# Title\n\n" + "word " * 40 + "{fact:.1f}\n\n{tables[one]}\n- a\n- b\n")
    shown = {"one": Exhibit.plain(Table("One", ("a\nb",), [(1,)]))}
    text = fill_page(words, {"fact": 2 / 3}, shown)
    assert max(map(len, text.split("\n"))) <= 110
    assert "0.7" in text
    assert "| a b |" in text
    assert shown["one"].data.columns == ["a, b"]
    assert listed(["a", "b", "c"]) == "a, b and c"
