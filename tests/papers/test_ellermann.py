"""Ellermann's workloads, measured: what the page in docs says."""

import pytest
from paper_pages import DOCS, no_progress

from experiments.ellermann.choices import EVEN, LOGARITHMIC, SEEDED, SEEDS, gains
from experiments.ellermann.measuring import WALKED, WORKLOADS, measure
from experiments.ellermann.page import GLIBC_SECONDS, MISS, PAGE, page, tables
from simalloc.trace.workloads.synthetic import ELLERMANN_OBJECTS


@pytest.fixture(scope="module")
def results():
    return measure(no_progress)


def test_the_page_in_docs_is_the_one_that_comes_out(results):
    made = page(results, tables(results))
    assert (DOCS / PAGE).read_text(encoding="utf-8") == made, "run `make papers`"


@pytest.mark.parametrize("name", WORKLOADS)
def test_next_fit_searches_less_and_walks_as_far(results, name):
    first, following = WALKED
    searches = [results.runs[name, text].counters.visited_mean for text in WALKED]
    frees = [results.runs[name, text].counters.visited_at_free_mean for text in WALKED]
    assert searches[0] > 40 * searches[1]
    assert 0.7 < frees[0] / frees[1] < 1.3
    assert 1.2 < results.per_pair(name, first) / results.per_pair(name, following) < 2.5


@pytest.mark.parametrize("name", WORKLOADS)
def test_next_fit_takes_more_memory(results, name):
    heaps = [results.runs[name, text].peak_heap_bytes for text in WALKED]
    pages = [results.pages[name, text] for text in WALKED]
    assert heaps[1] > 1.05 * heaps[0]
    assert pages[1] > pages[0]


def test_the_printed_times_are_not_those_of_searches(results):
    pairs = [results.per_pair(WORKLOADS[0], text) for text in WALKED]
    printed = 1e9 * GLIBC_SECONDS / ELLERMANN_OBJECTS
    assert (pairs[0] - pairs[1]) * MISS < 0.02 * printed


def test_caching_saves_few_merges(results):
    for name in WORKLOADS:
        plain, cached = (
            results.runs[name, f"first-fit-split{tail}"].counters.coalescings
            for tail in ("", ":cache=100")
        )
        assert 0.8 < cached / plain < 1


def test_the_rate_and_the_sizes_decide_who_walks_less_and_the_seed_does_not(results):
    even, logarithmic = (
        [gains(results.walks, choice)[0] for choice in choices] for choices in (EVEN, LOGARITHMIC)
    )
    assert even == sorted(even, reverse=True)
    assert even[-1] > 1.1
    assert logarithmic[0] > 1 > max(logarithmic[1:])
    for choice in SEEDED:
        found = gains(results.walks, choice)
        assert len(found) == len(SEEDS)
        assert max(found) - min(found) < 0.05
