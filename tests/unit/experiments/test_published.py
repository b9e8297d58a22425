"""The published figures as data."""

import pytest

from experiments.johnstone_wilson.published import (
    table,
)
from experiments.published import Printed


@pytest.mark.parametrize(
    ("text", "value", "half_unit", "decimals"),
    [
        ("1.64%", 1.64, 0.005, 2),
        ("13328%", 13328, 0.5, 0),
        ("25.3%", 25.3, 0.05, 1),
        ("1,672,889", 1672889, 0.5, 0),
        ("2,409K", 2409, 0.5, 0),
        ("2.5K", 2.5, 0.05, 1),
    ],
)
def test_printed_figures_keep_their_precision(text, value, half_unit, decimals):
    printed = Printed(text)
    assert printed.value == value
    assert printed.half_unit == pytest.approx(half_unit)
    assert printed.decimals == decimals


def test_cells_that_cannot_be_read_are_missing():
    assert "8K" not in table(2).row("perl")
    assert table(2).row("perl")["4K"].text == "1"
    assert [row for row in table(2).rows if "2M" not in table(2).row(row)] == ["perl"]
