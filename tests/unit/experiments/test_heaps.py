"""The heaps behind the printed percentages."""

import pytest

from experiments.johnstone_wilson.heaps import Interval, printed_heap, printed_live_at_peak, step


def test_a_4k_row_is_one_whole_multiple_of_its_unit():
    assert printed_heap("espresso", "first-fit-ao") == Interval(270_336, 270_336)
    assert printed_heap("espresso", "best-fit-ao-8k").middle % 512 == 0


def test_other_rows_are_as_exact_as_their_digits():
    heap = printed_heap("espresso", "binary-buddy")  # 45.8 percent over 269,646 to 269,648
    assert heap.low == pytest.approx(269_646 * 1.4575)
    assert heap.high == pytest.approx(269_648 * 1.4585)


def test_both_tables_give_the_live_bytes_at_the_peak():
    live = printed_live_at_peak("espresso", "first-fit-ao")  # 25.3 percent
    assert live.low == pytest.approx(270_336 / 1.2535)
    assert live.high == pytest.approx(270_336 / 1.2525)
    assert live.spell() == "215,751 ± 86"


def test_an_interval_knows_what_lies_in_it_and_how_far_the_rest_is():
    interval = Interval(10, 20)
    assert 15 in interval
    assert 21 not in interval
    assert [interval.distance(value) for value in (7, 12, 24)] == [3, 0, 4]
    assert Interval(5, 5).spell() == "5"


def test_growth_steps_are_those_that_the_rows_speak_for():
    steps = [step(row) for row in ("next-fit-ao", "best-fit-ao-8k", "double-buddy")]
    assert steps == [4096, 512, 256]
