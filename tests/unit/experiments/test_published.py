"""The published figures as data."""

import pytest

from experiments.johnstone_wilson.published import (
    AVERAGE,
    DEVIATION,
    label,
    programs,
    table,
)
from experiments.published import Printed
from simalloc.policy import GROUPS


@pytest.mark.parametrize(
    ("text", "value", "half_unit", "decimals"),
    [
        ("1.64%", 1.64, 0.005, 2),
        ("13328%", 13328, 0.5, 0),
        ("25.3%", 25.3, 0.05, 1),
        ("1,672,889", 1672889, 0.5, 0),
        ("2,409K", 2409, 0.5, 0),
        ("2.5K", 2.5, 0.05, 1),
    ],
)
def test_printed_figures_keep_their_precision(text, value, half_unit, decimals):
    printed = Printed(text)
    assert printed.value == value
    assert printed.half_unit == pytest.approx(half_unit)
    assert printed.decimals == decimals


@pytest.mark.parametrize("number", [3, 4])
def test_fragmentation_tables_are_whole_and_speak_simallocs_names(number):
    published = table(number)
    assert published.rows == GROUPS["johnstone-wilson"]
    assert published.columns == (*programs(), AVERAGE, DEVIATION)
    for policy in published.rows:
        assert set(published.row(policy)) == set(programs())
    assert set(published.cells) == {*GROUPS["johnstone-wilson"], AVERAGE, DEVIATION}


@pytest.mark.parametrize("number", [1, 2, 5, 6, 7])
def test_statistics_tables_have_a_row_a_program(number):
    assert set(table(number).rows) == set(programs())


def test_cells_that_cannot_be_read_are_missing():
    assert "8K" not in table(2).row("perl")
    assert table(2).row("perl")["4K"].text == "1"
    assert [row for row in table(2).rows if "2M" not in table(2).row(row)] == ["perl"]


def test_columns_leave_the_summaries_out():
    assert set(table(4).column("espresso")) == set(GROUPS["johnstone-wilson"])
    assert table(4).cells[AVERAGE]["espresso"].text == "28.6%"
    assert table(4).cells["best-fit-ao"][DEVIATION].text == "3.32%"


def test_names_are_written_as_the_paper_does():
    assert label("best-fit-ao-8k") == "best fit AO 8K"
    assert label("ghostscript") == "Ghostscript"
