"""The charts of a page: marks are at their values, and their number is minimal."""

import re

import numpy as np
import pytest

from simalloc.report.extremes import both_extremes
from simalloc.report.page.chart import Panel, bytes_axis, chart, events_axis, key, log_axis


@pytest.mark.parametrize("last", [0, 1, 7, 80_344, 5_000_000, 10**12])
def test_events_have_a_few_marks_of_which_no_two_are_alike(last):
    axis = events_axis(last)
    names = [axis.spell(tick) for tick in axis.ticks]
    assert 1 <= len(names) == len(set(names)) <= 6
    assert axis.ticks[-1] <= max(last, 1)


@pytest.mark.parametrize("low", [1, 24, 4096])
@pytest.mark.parametrize("times", [2, 100, 2**40])
def test_a_logarithmic_axis_is_marked_within_its_ends(low, times):
    axis = log_axis("size", low, low * times)
    assert 1 <= len(axis.ticks) <= 7
    assert low <= min(axis.ticks) <= max(axis.ticks) <= low * times
    np.testing.assert_allclose(axis.places([low, low * times]), [0, 1])


def test_a_line_goes_through_its_corners_alone():
    panel = Panel(events_axis(4), bytes_axis("bytes", 100, room=1))
    panel.line([0, 1, 1, 2, 3, 4], [0, 50, 50, 100, 50, 50], "red")
    assert 'd="M0 2000l2000 -2000 1000 1000 1000 0"' in panel.marks[0]
    panel.area([0, 4], 0, [50, 50], "red")
    assert 'd="M0 1000l4000 0 0 1000 -4000 0z"' in panel.marks[1]
    panel.blocks([1], [2], [0], [25], "fill:red")
    assert 'd="M1000 1500h1000v500h-1000z"' in panel.marks[2]


def test_one_point_and_names_with_markup_can_be_drawn():
    panel = Panel(events_axis(1), bytes_axis("bytes", 1), "<b>")
    panel.line([1], [1], "red")
    drawn = chart("<i>", [panel, panel], 100) + key(("background:red", "<u>"))
    assert not re.search("<[biu]>", drawn)
    assert drawn.count("&lt;b&gt;") == 2


def test_intervals_are_put_together_with_all_their_extremes():
    low, high = np.arange(1000.0), np.arange(1000.0)
    low[333], high[777] = -5, 5000
    time, values = both_extremes(8, low, high, 100)
    assert len(values) == 200
    assert (values.min(), values.max()) == (-5, 5000)
    assert time[values.argmax()] == 8 * 10 * 78 - 1
