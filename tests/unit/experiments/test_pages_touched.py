"""How many pages allocations in a row begin in."""

import numpy as np

from experiments.ellermann.pages import pages_touched


def test_pages():
    assert pages_touched(np.array([0, 4095, 4096, -1, 9000]), span=2) == 1.5
