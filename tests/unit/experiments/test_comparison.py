"""Published tables beside measured tables."""

import pytest

from experiments.comparison import difference
from experiments.johnstone_wilson.comparison import Comparison, average, deviation
from experiments.johnstone_wilson.published import AVERAGE, DEVIATION, PublishedTable
from experiments.published import Printed
from simalloc.report.table import spell


def printed(**cells):
    return {name: Printed(text) for name, text in cells.items()}


TABLE = PublishedTable(
    number=4,
    caption="A caption",
    page=9,
    mended=("One cell was mended.",),
    columns=("espresso", "hyper", AVERAGE),
    cells={
        "best-fit-ao": printed(espresso="0.26%", hyper="0.16%", average="0.21%"),
        "next-fit-ao": printed(espresso="1.77%", hyper="0.16%", average="0.96%"),
        "binary-buddy": printed(espresso="45.8%"),
        AVERAGE: printed(espresso="15.9%", hyper="0.16%"),
        DEVIATION: printed(espresso="25.9%", hyper="0.00%"),
    },
)
COMPARISON = Comparison(
    TABLE,
    {
        "best-fit-ao": {"espresso": 0.5, "hyper": 0.25},
        "next-fit-ao": {"espresso": 1.5},
        "binary-buddy": {"espresso": 49.1, "hyper": 7.0},
    },
    "percent",
    "a variant",
)


def shown():
    return {
        f"{row[0]}{place}": [spell(value) for value in row[1:]]
        for place, row in enumerate(COMPARISON.table().rows)
    }


def test_three_lines_a_row_with_the_printed_decimals():
    lines = shown()
    assert lines["best fit AO: published0"] == ["0.26", "0.16"]
    assert lines["here1"] == ["0.50", "0.25"]
    assert lines["difference2"] == ["+0.24", "+0.09"]


def test_cells_missing_on_either_side_have_no_difference():
    lines = shown()
    assert lines["next fit AO: published3"] == ["1.77", "0.16"]
    assert lines["here4"] == ["1.50", ""]
    assert lines["difference5"] == ["-0.27", ""]
    assert lines["binary buddy: published6"] == ["45.8", ""]
    assert lines["difference8"] == ["+3.3", ""]


def test_summaries_are_over_the_cells_that_have_both():
    lines = shown()
    assert lines["average: published9"] == ["15.9", ""]
    assert lines["here10"] == ["17.0", ""]
    assert lines["deviation: published12"][0] == "25.9"


def test_title_notes_and_the_word_reconstructed():
    table = COMPARISON.table()
    assert table.title == "Table 4 (page 9). A caption; percent; a variant"
    assert table.notes == ("One cell was mended.",)
    assert table.columns == ("", "Espresso", "Hyper\nreconstructed")


def test_data_has_a_row_a_cell_with_both_figures():
    rows = COMPARISON.data().rows
    assert [row[:2] for row in rows] == [
        ("best-fit-ao", "espresso"),
        ("best-fit-ao", "hyper"),
        ("next-fit-ao", "espresso"),
        ("binary-buddy", "espresso"),
    ]
    assert rows[0][2:5] == pytest.approx((0.26, 0.5, 0.24))
    assert [row[5] for row in rows] == ["genuine", "reconstructed", "genuine", "genuine"]


def test_rows_of_programs_are_summed_up_in_print_then_here_then_over_the_genuine():
    cells = {
        "espresso": printed(peak="1"),
        "gcc": printed(peak="3"),
        "grobner": printed(peak="50"),
        "hyper": printed(peak="8"),
        AVERAGE: printed(peak="15.5"),
    }
    table = PublishedTable(1, "A caption", (), ("peak",), cells, page=5)
    measured = {"espresso": {"peak": 2.0}, "gcc": {"peak": 4.0}, "hyper": {"peak": 9.0}}
    rows = [[spell(value) for value in row] for row in Comparison(table, measured).table().rows]
    assert rows[-7:] == [
        ["average of all 4: published", "15.5"],
        ["average of 3, 1 reconstructed: published", "4.0"],
        ["here", "5.0"],
        ["difference", "+1.0"],
        ["average of the 2 genuine: published", "2.0"],
        ["here", "3.0"],
        ["difference", "+1.0"],
    ]


def test_average_and_deviation_are_the_papers():
    assert average([1, 2, 6]) == 3
    assert deviation([1, 2, 3]) == 1
    assert difference(1.0, None, 2) is None
