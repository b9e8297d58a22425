"""Proven worst cases, compared with figures computed by hand."""

import pytest

from simalloc.bound import best_fit_bound, buddy_bound, first_fit_bound, robson_bound

BOUNDS = [robson_bound, first_fit_bound, best_fit_bound, buddy_bound]


def test_sixteen_bytes_in_objects_of_one_to_four():
    # log2(4) is 2. The bounds are 16 (2 / 2 + 1) - 4 + 1, and 16 times 2, 4 and 3.
    assert [bound(16, 4) for bound in BOUNDS] == [29, 32, 64, 48]


@pytest.mark.parametrize("bound", BOUNDS)
def test_the_unit_is_the_smallest_object(bound):
    assert bound(128, 32, 8) == 8 * bound(16, 4)


@pytest.mark.parametrize("bound", BOUNDS)
def test_what_is_no_game(bound):
    with pytest.raises(ValueError, match="they must satisfy 0 < smallest"):
        bound(4, 16)
