"""Johnstone & Wilson's printed figures against one another."""

import pytest

from experiments.johnstone_wilson import consistency
from experiments.johnstone_wilson.consistency import Check
from experiments.published import Printed


def disagreeing(checks):
    return [check.where for check in checks if not check.agrees]


def test_every_printed_average_is_the_arithmetic_mean_of_its_cells():
    checks = consistency.averages()
    assert len(checks) == 64
    assert disagreeing(checks) == []


def test_every_printed_deviation_is_that_of_a_sample():
    checks = consistency.deviations()
    assert len(checks) == 48
    assert disagreeing(checks) == []


def test_no_printed_deviation_is_that_of_a_population():
    checks = consistency.deviations(sample=False)
    assert len(disagreeing(checks)) == len(checks)


def test_prose_and_tables_disagree_on_gcc_only():
    assert disagreeing(consistency.prose()) == ["section 5, GCC with simple seg 2^N, #3"]


def test_measure_3_lies_below_measure_4_for_lrusim_only():
    pairs = consistency.impossible_pairs()
    assert {program for _, program, _, _ in pairs} == {"lrusim"}
    assert [policy for policy, *_ in pairs] == [
        "best-fit-ao-8k", "first-fit-ao-8k", "binary-buddy", "double-buddy",
    ]  # fmt: skip


def test_classes_hold_the_most_live_objects_except_where_cells_are_missing():
    sums = consistency.class_sums()
    assert [program for program, (total, most) in sums.items() if total < most] == ["perl"]
    assert sums["hyper"] == (297, 297)


@pytest.mark.parametrize(("computed", "agrees"), [(1.63, True), (1.6501, False), (1.65, True)])
def test_a_check_allows_what_rounding_can_do(computed, agrees):
    assert Check("a cell", Printed("1.64%"), computed, 0.01).agrees is agrees
