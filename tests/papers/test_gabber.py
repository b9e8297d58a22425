"""Gabber's tables beside generated and recorded traces: what the page in docs claims."""

import pytest
from paper_pages import DOCS

from experiments.gabber.exhibits import exhibits
from experiments.gabber.measuring import results as read_results
from experiments.gabber.outcome import Outcome
from experiments.gabber.page import PAGE, page
from experiments.gabber.programs import EMACS, HUMMINGBIRD, seeded
from experiments.gabber.ranks import ranks
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
    again = Outcome.of(simulate(results.traces[key], text, scale=SCALE, realloc=REALLOC))
    assert (again.peak_heap, again.final_heap) == (kept.peak_heap, kept.final_heap)


def test_phk_leads_on_hummingbird_in_full(results):
    others = ("solaris-default", "lea-2.6.6", "modified-binary-buddy", "quick-fit")
    phk = full(results, with_mechanism("phk"))
    assert phk == pytest.approx(30.5, abs=5)
    assert all(phk < full(results, with_mechanism(name)) for name in others)


def test_address_order_is_what_keeps_hummingbirds_heap(results):
    assert full(results, "first-fit-ao") < full(results, "best-fit-ao") < 60
    assert full(results, "first-fit-lifo") > 2000


def test_phk_gives_memory_back(results):
    phk = results.full[HUMMINGBIRD, with_mechanism("phk")]
    assert phk.final_heap < 0.9 * phk.peak_heap
    assert results.full[HUMMINGBIRD, with_mechanism("solaris-default")].peak_heap < phk.peak_heap


def test_phk_is_first_on_redis_and_not_on_varnish(results):
    assert ranks(results, "redis")["phk"] == 1
    assert ranks(results, "varnish")["phk"] > 1


def test_it_is_not_the_order_of_phks_pages_but_that_it_gives_memory_back(results):
    def varied(text):
        return results.outcomes[HUMMINGBIRD, text].at_end

    for order in ("address", "newest"):
        assert varied(f"phk:chunk_pages={order}") == pytest.approx(varied("phk"), abs=0.5)
    assert varied("phk:keep=1G") > varied("phk") + 10
    assert varied("phk:page=2K") < varied("phk") < varied("phk:page=8K")


def test_the_worst_three_on_hummingbird_come_in_the_printed_order(results):
    for key in (HUMMINGBIRD, seeded(2)):
        here = ranks(results, key)
        assert [here[name] for name in ("csri-1.18", "vmalloc", "solaris-3x")] == [7, 8, 9]
    csri, vmalloc = (full(results, with_mechanism(name)) for name in ("csri-1.18", "vmalloc"))
    assert 1000 < csri < vmalloc
