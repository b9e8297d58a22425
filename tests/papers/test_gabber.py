"""Gabber's tables beside generated and recorded traces: the claims of the page in docs."""

import pytest
from paper_pages import DOCS

from experiments.gabber.choices import (
    OTHERWISE,
    TWENTIETH,
)
from experiments.gabber.exhibits import exhibits
from experiments.gabber.measuring import results as read_results
from experiments.gabber.page import PAGE, page
from experiments.gabber.programs import EMACS, HUMMINGBIRD
from experiments.gabber.ranks import ranks
from experiments.gabber.runs import GabberRun
from experiments.mallocs import REALLOC, SCALE, with_mechanism
from simalloc.heap import simulate


@pytest.fixture(scope="module")
def results():
    return read_results()


def full(results, name):
    return results.full[HUMMINGBIRD, name].at_end


def test_the_page_in_docs_is_the_one_that_the_run_makes(results):
    made = page(results, exhibits(results))
    assert made == (DOCS / PAGE).read_text("utf-8"), "`python -m experiments.gabber --out docs`"


@pytest.mark.parametrize("key", [HUMMINGBIRD, EMACS])
@pytest.mark.parametrize("name", ["solaris-default", "lea-2.6.6", "modified-binary-buddy"])
def test_what_is_kept_is_what_a_replay_gives(results, key, name):
    text = with_mechanism(name)
    kept = results.outcomes[key, text]
    again = GabberRun.of(simulate(results.traces[key], text, scale=SCALE, realloc=REALLOC))
    assert (again.peak_heap, again.final_heap) == (kept.peak_heap, kept.final_heap)


def test_phk_leads_all_nine_on_hummingbird_in_full(results):
    here = ranks(results, HUMMINGBIRD, full=True)
    assert len(here) == 9
    assert here["phk"] == 1
    assert full(results, with_mechanism("phk")) == pytest.approx(30.5, abs=5)


def test_address_order_is_what_keeps_hummingbirds_heap(results):
    assert full(results, "first-fit-ao") < full(results, "best-fit-ao") < 60
    assert full(results, "first-fit-lifo") > 2000


def test_what_is_kept_of_a_choice_is_what_a_replay_gives(results):
    words, choice = next(iter(OTHERWISE.items()))
    text = with_mechanism("modified-binary-buddy")
    kept = results.chosen[TWENTIETH.chosen(words), text]
    again = simulate(TWENTIETH.trace(1, choice), text, scale=SCALE, realloc=REALLOC)
    assert (again.peak_heap_bytes, again.final_heap_bytes) == (kept.peak_heap, kept.final_heap)
