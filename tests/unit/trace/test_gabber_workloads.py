"""Hummingbird and Emacs of Bohra & Gabber 2001: the generated traces have fixed figures."""

import numpy as np
import pytest

from simalloc.trace.workloads import gabber_emacs, hummingbird
from simalloc.trace.workloads.drawn_sizes import exact_counts, exponent, power_law


def test_counts_are_whole_and_add_up():
    assert exact_counts((1, 1, 1), 10) == [4, 3, 3]
    assert exact_counts((25.0, 75.0), 8) == [2, 6]


@pytest.mark.parametrize(("smallest", "largest", "mean"), [(24, 32, 25.2), (128, 32760, 5296)])
def test_a_power_law_has_the_mean_asked_for(smallest, largest, mean):
    drawn = power_law(np.random.default_rng(1), 100_000, smallest, largest, mean)
    assert drawn.mean() == pytest.approx(mean, rel=1e-3)
    assert drawn.min() >= smallest
    assert drawn.max() <= largest
    assert not np.any(drawn % 8)


def test_a_power_law_falls_as_its_exponent_says():
    drawn = power_law(np.random.default_rng(1), 1_000_000, 128, 32760, 5296)
    size, times = np.unique(drawn, return_counts=True)
    slope = np.polyfit(np.log(size), np.log(times), 1)[0]
    assert -slope == pytest.approx(exponent(128, 32760, 5296), abs=0.02)


def test_a_mean_outside_the_range_is_refused():
    with pytest.raises(ValueError, match="cannot have a mean"):
        power_law(np.random.default_rng(1), 10, 8, 16, 16)


def test_short_traces_can_be_had():
    for generate in (hummingbird.hummingbird, gabber_emacs.gabber_emacs):
        assert generate(objects=1000).objects == 1000
