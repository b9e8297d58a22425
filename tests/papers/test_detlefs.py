"""Detlefs, Dosser & Zorn's tables, measured: what the page in docs claims."""

import pytest
from paper_pages import DOCS, no_progress

from experiments.detlefs.agreement import SAME_RUN
from experiments.detlefs.behaviour import MOST_BYTES, OBJECTS, comparison
from experiments.detlefs.bracket import bracket
from experiments.detlefs.exhibits import exhibits
from experiments.detlefs.heaps import table_9, table_10
from experiments.detlefs.measuring import measure
from experiments.detlefs.page import PAGE, page


@pytest.fixture(scope="module")
def results():
    return measure(no_progress)


def test_the_page_in_docs_is_the_one_that_the_run_makes(results):
    made = page(results, exhibits(results))
    assert made == (DOCS / PAGE).read_text("utf-8"), "`python -m experiments.detlefs --out docs`"


@pytest.mark.parametrize("program", SAME_RUN)
def test_the_same_runs_have_the_printed_number_of_objects(results, program):
    cells = {
        (row, column): (printed, here)
        for row, column, printed, here in comparison(results.described).pairs()
    }
    printed, here = cells[program, OBJECTS]
    assert here == pytest.approx(printed, abs=1)


def test_espressos_peak_is_two_stdio_buffers_below_print(results):
    assert results.buffered["espresso"] == 2
    cells = {pair[:2]: pair[2:] for pair in comparison(results.described).pairs()}
    printed, here = cells["espresso", MOST_BYTES]
    assert printed - here == pytest.approx(2 * 8.192, abs=0.1)


@pytest.mark.parametrize(
    ("program", "allocator", "most"),
    [
        ("espresso", "g++-2.5", 0),
        ("espresso", "quick-fit", 0),
        ("espresso", "gnu-1993", 4),
        ("cfrac", "g++-2.5", 0),
        ("cfrac", "gnu-1993", 0),
        ("gawk", "gnu-1993", 3),
    ],
)
def test_heaps_meet_print_where_the_run_is_the_papers(results, program, allocator, most):
    pairs = {pair[:2]: pair[2:] for pair in table_9(results, stdio=True).pairs()}
    printed, here = pairs[program, allocator]
    assert abs(here - printed) <= most


@pytest.mark.parametrize("program", ["espresso", "gawk"])
def test_ultrix_lies_between_its_kin(results, program):
    low, printed, high = bracket(results, program)
    assert low <= printed <= high


def test_table_10_is_table_9_over_the_peak(results):
    ninth = {pair[:2]: pair[3] for pair in table_9(results, stdio=False).pairs()}
    tenth = {pair[:2]: pair[3] for pair in table_10(results, stdio=False).pairs()}
    live = results.described["make"].peak_bytes.amount
    for (program, allocator), quotient in tenth.items():
        if program == "make":
            assert quotient == pytest.approx(1024 * ninth[program, allocator] / live)
