"""Gabber's tables beside generated and recorded traces: what the page in docs claims."""

import pytest
from paper_pages import DOCS

from experiments.gabber.choices import (
    OTHERWISE,
    TWENTIETH,
    WHOLE,
    at_end,
    rank_of_leader,
    spread,
)
from experiments.gabber.exhibits import exhibits
from experiments.gabber.jitter import jitter_leads, jittered
from experiments.gabber.measuring import results as read_results
from experiments.gabber.page import PAGE, page
from experiments.gabber.programs import EMACS, HUMMINGBIRD, seeded
from experiments.gabber.ranks import ranks
from experiments.gabber.runs import GabberRun
from experiments.mallocs import REALLOC, SCALE, with_mechanism
from simalloc.heap import simulate
from simalloc.trace import Op, Trace
from simalloc.trace.catalogue import load


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


def test_phks_distance_outlives_small_changes_of_the_sizes(results):
    for label, found in jitter_leads(results).items():
        ahead = label.startswith("redis")
        assert all((lead > 5) == ahead for lead in found), label
        assert max(found) - min(found) < 3, label


def test_jitter_changes_requests_alone():
    trace = Trace.from_events(
        [Op.MALLOC, Op.MALLOC, Op.FREE, Op.MALLOC], [0, 1, 0, 2], [100, 64, 0, 3]
    )
    changed = jittered(trace, 1, kept=64)
    assert abs(changed.size[0] - 100) in (8, 16)
    assert list(changed.size[1:3]) == [64, 0]
    assert changed.size[3] in (8, 11, 19)
    assert any(jittered(trace, seed).size[1] != changed.size[1] for seed in range(9))


def test_what_is_kept_of_changed_sizes_is_what_a_replay_gives(results):
    text = with_mechanism("solaris-default")
    kept = results.jittered["varnish, jitter 1", text]
    again = simulate(jittered(load("varnish"), 1), text, scale=SCALE, realloc=REALLOC)
    assert (again.peak_heap_bytes, again.final_heap_bytes) == (kept.peak_heap, kept.final_heap)


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
    here = ranks(results, HUMMINGBIRD, full=True)
    assert [here[name] for name in ("csri-1.18", "solaris-3x", "vmalloc")] == [7, 8, 9]
    assert full(results, with_mechanism("csri-1.18")) > 1000


def test_in_full_phk_leads_with_every_seed_and_with_all_choices_but_one(results):
    kept, keys = results.chosen, WHOLE.keys()
    assert {rank_of_leader(kept, key) for key in keys["seeds"]} == {1}
    assert sorted(rank_of_leader(kept, key) for key in keys["choices"]) == [1, 1, 1, 1, 2]
    for key in WHOLE.made():
        here = at_end(kept, key)
        assert min(here, key=here.get) in {"phk", "lea-2.6.6"}
        assert set(sorted(here, key=here.get)[-3:]) == {"csri-1.18", "vmalloc", "solaris-3x"}


def test_seeds_and_choices_move_the_figures(results):
    assert len({rank_of_leader(results.chosen, key) for key in TWENTIETH.keys()["seeds"]}) > 1
    for keys in TWENTIETH.keys().values():
        least, most = spread(results.chosen, "solaris-default", keys)
        assert most > 2 * least
    least, most = spread(results.chosen, "gnu-1995", list(WHOLE.made()))
    assert 7 * 41.8 < least < most / 1.5


def test_what_is_kept_of_a_choice_is_what_a_replay_gives(results):
    words, choice = next(iter(OTHERWISE.items()))
    text = with_mechanism("modified-binary-buddy")
    kept = results.chosen[TWENTIETH.chosen(words), text]
    again = simulate(TWENTIETH.trace(1, choice), text, scale=SCALE, realloc=REALLOC)
    assert (again.peak_heap_bytes, again.final_heap_bytes) == (kept.peak_heap, kept.final_heap)
