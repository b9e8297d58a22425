"""Detlefs, Dosser & Zorn's tables, measured: the claims of the page in docs."""

import pytest
from paper_pages import DOCS, no_progress

from experiments.detlefs.exhibits import exhibits
from experiments.detlefs.heaps import table_9
from experiments.detlefs.measuring import measure
from experiments.detlefs.page import PAGE, page
from experiments.detlefs.paper import NEAR, SAME_RUN
from experiments.detlefs.verdict import space_order


@pytest.fixture(scope="module")
def results():
    return measure(no_progress)


def test_the_page_in_docs_is_the_one_that_the_run_makes(results):
    made = page(results, exhibits(results))
    assert made == (DOCS / PAGE).read_text("utf-8"), "`python -m experiments.detlefs --out docs`"


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
    pairs = {pair[:2]: pair[2:] for pair in table_9(results).pairs()}
    printed, here = pairs[program, allocator]
    assert abs(here - printed) <= most


def test_what_can_be_compared_agrees_more_often_than_not(results):
    ninth = [
        abs(here / printed - 1) <= NEAR
        for program, _, printed, here in table_9(results).pairs()
        if program in SAME_RUN
    ]
    assert (sum(ninth), len(ninth)) == (9, 15)
    order = space_order(results)
    assert order["here"] >= order["printed"] >= 4
