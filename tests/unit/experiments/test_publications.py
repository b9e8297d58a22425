"""The papers' figures as data files, and tables of published beside measured figures."""

import pytest

from experiments.comparison import Comparison
from experiments.detlefs.behaviour import BUFFER, with_buffers
from experiments.detlefs.paper import PAPER as DETLEFS
from experiments.gabber.paper import PAPER as GABBER
from experiments.output import Exhibit, fill_page, listed
from simalloc.report import Table
from simalloc.report.table import spell
from simalloc.trace import Trace


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
