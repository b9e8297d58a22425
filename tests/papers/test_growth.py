"""Dependence of figures on the growth unit: the claims of docs/growth-unit.md."""

import pytest
from paper_pages import DOCS

from experiments.growth.findings import BEST, FIRST, PAPER, Findings
from experiments.growth.measuring import (
    CLOSELY,
    FINE,
    POLICIES,
    SCALE,
    UNITS,
    WITHOUT_TAIL,
    measure,
)
from experiments.growth.page import PAGE, PICTURE, page
from experiments.growth.synthetic import SMALL, SYNTHETIC
from experiments.shipped import shipped

DESCRIBED = 256 * SCALE


@pytest.fixture(scope="module")
def found():
    return Findings.kept()


def test_the_page_in_docs_is_the_one_that_comes_out(found):
    assert (DOCS / PAGE).read_text(encoding="utf-8") == page(found), "python -m experiments.growth"
    assert (DOCS / "images" / PICTURE).read_bytes().startswith(b"\x89PNG")


def test_every_shipped_trace_was_replayed_under_every_policy_with_every_unit(found):
    assert found.traces == tuple(shipped())
    for trace in (*found.traces, SYNTHETIC):
        for policy in POLICIES:
            assert all(found.outcome(trace, policy, unit).peak_heap > 0 for unit in UNITS)


@pytest.mark.parametrize("name", ["make", "p2c", "ginsh", SYNTHETIC])
def test_what_is_kept_is_what_a_replay_comes_to(found, name):
    units = (UNITS[0], UNITS[3], DESCRIBED, UNITS[-1])
    policies = (*POLICIES, WITHOUT_TAIL) if name in CLOSELY else POLICIES
    for one in measure(name, policies, units):
        assert one == found.outcome(name, one.policy, one.unit)


def test_on_the_papers_programs_both_stand_with_any_unit(found):
    for policy in (BEST, FIRST):
        assert found.most_on_paper(policy) < 3
    assert set(PAPER) < set(found.traces)


def test_first_fit_hardly_depends_on_the_unit_and_best_fit_does_on_two(found):
    assert found.widest(FIRST).width < 5
    wide = {spread.trace for spread in found.spreads(BEST) if spread.width > 5}
    assert wide == {"perl5", "ginsh"}
    assert found.figure("perl5", BEST, UNITS[0]) < 1
    assert found.figure("perl5", BEST, DESCRIBED) > 1000
    assert found.spread("perl5", FIRST).most < 1


def test_best_fit_fails_on_a_growing_block_as_soon_as_a_scrap_can_hold_an_object(found):
    for unit in FINE:
        best, first = (found.outcome(SYNTHETIC, policy, unit).waste for policy in (BEST, FIRST))
        assert first < 60
        assert best == first if unit < SMALL * SCALE else best > 3000
    assert found.outcome(SYNTHETIC, WITHOUT_TAIL, UNITS[0]).waste > 3000
    assert max(found.outcome(SYNTHETIC, "lea-2.6.1", unit).waste for unit in UNITS) < 140
