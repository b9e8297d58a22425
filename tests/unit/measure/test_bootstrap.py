"""Bootstrap intervals."""

import numpy as np
import pytest

from simalloc.measure.bootstrap import bootstrap_means, mean_intervals, program_means


def test_the_bootstrap_resamples_traces_alike_for_all():
    values = np.array([[0.0, 1.0, 2.0, 9.0], [1.0, 2.0, 3.0, 10.0]])
    means = bootstrap_means(values, range(4), 5000)
    assert means.shape == (5000, 2)
    np.testing.assert_allclose(means[:, 1] - means[:, 0], 1)
    assert means[:, 0].mean() == pytest.approx(3, abs=0.1)
    assert means[:, 0].std() == pytest.approx(values[0].std() / 2, rel=0.05)
    np.testing.assert_array_equal(means, bootstrap_means(values, range(4), 5000))


def test_the_interval_covers_as_often_as_it_says():
    draw = np.random.default_rng(7)
    samples = [draw.exponential(1, (1, 30)) for _ in range(300)]
    bounds = [mean_intervals(sample, range(sample.shape[1]), 0.95, 400)[:, 0] for sample in samples]
    covered = np.mean([low <= 1 <= high for low, high in bounds])
    assert 0.87 <= covered <= 0.97


def test_programs_are_resampled_and_traces_within_them():
    values = np.array([[0.0, 2.0, 4.0, 10.0]])
    programs = ["a", "a", "a", "b"]
    assert program_means(values, programs).tolist() == [[2, 10]]
    means = bootstrap_means(values, programs, 20_000)[:, 0]
    assert means.mean() == pytest.approx(6, abs=0.1)
    assert np.mean(means == 10) == pytest.approx(0.25, abs=0.02), "both draws are of program b"
    assert means.max() == 10
    between, within = np.var([2, 10]), np.var(values[0, :3]) / 3
    assert means.var() == pytest.approx((between + within / 2) / 2, rel=0.05)
