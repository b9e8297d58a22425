"""Detlefs, Dosser & Zorn's tables, measured: what the page in docs claims."""

import pytest
from paper_pages import DOCS, no_progress

from experiments.detlefs.agreement import NEAR, SAME_RUN
from experiments.detlefs.behaviour import MOST_BYTES, OBJECTS, comparison
from experiments.detlefs.bracket import bracket
from experiments.detlefs.choices import COLLECTOR, ROOTS, collector_heap, heap, is_near
from experiments.detlefs.exhibits import exhibits
from experiments.detlefs.heaps import table_9, table_10
from experiments.detlefs.measuring import measure
from experiments.detlefs.page import PAGE, page
from experiments.detlefs.verdict import space_order
from experiments.detlefs.work import rank_correlation


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
    pairs = {pair[:2]: pair[2:] for pair in table_9(results).pairs()}
    printed, here = pairs[program, allocator]
    assert abs(here - printed) <= most


@pytest.mark.parametrize("program", ["espresso", "gawk"])
def test_ultrix_lies_between_its_kin(results, program):
    low, printed, high = bracket(results, program)
    assert low <= printed <= high


def test_table_10_is_table_9_over_the_peak(results):
    ninth = {pair[:2]: pair[3] for pair in table_9(results).pairs()}
    tenth = {pair[:2]: pair[3] for pair in table_10(results).pairs()}
    live = results.described["make"].peak_bytes.amount
    for (program, allocator), quotient in tenth.items():
        if program == "make":
            assert quotient == pytest.approx(1024 * ninth[program, allocator] / live)


def test_what_can_be_compared_agrees_more_often_than_not(results):
    ninth = [
        abs(here / printed - 1) <= NEAR
        for program, _, printed, here in table_9(results).pairs()
        if program in SAME_RUN
    ]
    assert (sum(ninth), len(ninth)) == (9, 15)
    order = space_order(results)
    assert order["here"] >= order["printed"] >= 4


def test_a_missing_buffer_does_not_explain_quick_fit_on_cfrac(results):
    for name in ("gnu-1993", "g++-2.5"):
        assert is_near("cfrac", name, heap(results.choices, "cfrac", 0, name))
        assert not is_near("cfrac", name, heap(results.choices, "cfrac", 1, name))
    assert not is_near("cfrac", "quick-fit", heap(results.choices, "cfrac", 1, "quick-fit"))


def test_no_roots_bring_the_collector_to_print_on_espresso_and_gawk_both(results):
    for roots in ROOTS:
        near = [
            is_near(
                program,
                COLLECTOR,
                collector_heap(results.choices, program, results.buffered, roots),
            )
            for program in ("espresso", "gawk")
        ]
        assert not all(near)


def test_instructions_go_with_visits_no_more_than_by_chance(results):
    for name in ("g++-2.5", "quick-fit"):
        found = rank_correlation(results, name)
        assert 0 < found.value < 0.8
        assert found.chance > 5
