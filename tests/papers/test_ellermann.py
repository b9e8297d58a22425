"""Ellermann's workloads, measured: the claims of the page in docs."""

import pytest
from paper_pages import DOCS, no_progress

from experiments.ellermann.choices import EVEN, LOGARITHMIC, SEEDED, SEEDS, gains
from experiments.ellermann.measuring import WALKED, WORKLOADS, measure
from experiments.ellermann.page import PAGE, page, tables


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
