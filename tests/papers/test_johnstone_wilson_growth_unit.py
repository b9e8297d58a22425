"""The growth unit behind Johnstone & Wilson's table 4, from the printed figures alone."""

import numpy as np
import pytest

from experiments.johnstone_wilson import growth_unit
from experiments.johnstone_wilson.growth_unit import (
    DESCRIBED,
    PRINTED,
    ROWS_4K,
    ROWS_8K,
    TRUTHS,
    chance,
    column_fit,
    live_candidates,
    on_grid,
    pinned_live,
    row_fit,
)
from experiments.johnstone_wilson.published import programs
from experiments.published import Printed


def hits(rows, grid):
    return sum(column_fit(program, rows, grid).hits for program in programs())


def test_4k_rows_lie_on_4096_bytes_but_for_one_figure():
    fits = [column_fit(program, ROWS_4K, PRINTED) for program in programs()]
    assert sum(len(fit.values) for fit in fits) == 30
    assert {fit.program: fit.missed for fit in fits if fit.missed} == {"gcc": (Printed("23.7%"),)}


def test_no_table_grown_by_the_described_unit_comes_near():
    by_chance = chance(ROWS_4K, PRINTED, draws=500)
    assert by_chance.as_many == 0
    assert by_chance.mean < 11
    assert by_chance.most < 20


@pytest.mark.parametrize("truth", TRUTHS)
def test_no_finer_true_unit_makes_4096_bytes_explain_as_much(truth):
    assert hits(ROWS_4K, truth) == 30
    by_chance = chance(ROWS_4K, PRINTED, truth=truth, draws=300)
    assert by_chance.most < hits(ROWS_4K, PRINTED) - 3


@pytest.mark.parametrize("policy", ["binary-buddy", "double-buddy"])
def test_the_buddies_own_rows_do_not_settle_their_unit(policy):
    fit = row_fit(policy, DESCRIBED)
    assert (fit.hits, fit.cells) == (0, 1)


def test_coarser_units_explain_far_less():
    assert hits(ROWS_4K, 2 * PRINTED) < 20
    assert hits(ROWS_4K, 4 * PRINTED) < 10


def test_8k_rows_lie_on_512_bytes_and_on_nothing_coarser():
    for policy in ROWS_8K:
        fit = row_fit(policy, 512)
        assert fit.hits == fit.cells == 5
        assert fit.expected < 0.6
        assert row_fit(policy, 1024).hits < row_fit(policy, 1024).cells


@pytest.mark.parametrize("policy", growth_unit.ROWS_OTHER)
def test_buddies_and_segregated_storage_did_not_grow_by_4096_bytes(policy):
    fit = row_fit(policy, PRINTED)
    assert fit.hits <= 1 < fit.cells


def test_pinned_live_bytes_lie_where_table_1_puts_them():
    for program in programs():
        live = pinned_live(program)
        assert np.isin(live, live_candidates(program)).all()
        assert live[-1] - live[0] < 256


def test_imitations_grown_by_the_described_unit_all_lie_on_it():
    assert chance(ROWS_4K, DESCRIBED, draws=3).mean == hits(ROWS_4K, DESCRIBED) == 30


def test_chance_is_the_same_for_the_same_seed():
    assert chance(ROWS_8K, 1024, draws=20) == chance(ROWS_8K, 1024, draws=20)


def test_on_grid_knows_what_rounding_hides():
    live = np.array([1000])
    half_unit = np.array(0.5)
    assert on_grid(live, np.array(2.0), half_unit, 512).tolist() == [True]  # 1024: 2.4 percent
    assert on_grid(live, np.array(3.0), half_unit, 512).tolist() == [False]
