"""The number of blocks that each block of a sample represents."""

import numpy as np

from simalloc.trace.sample import blocks_like, sampled_every


def test_a_block_stands_for_its_like():
    size = np.array([0, 1, 1024, 1 << 20])
    assert np.allclose(blocks_like(size, 1024), [1024.5, 1024.5, 1 / (1 - np.exp(-1)), 1])
    assert blocks_like(size, 0).tolist() == [1, 1, 1, 1]


def test_what_a_provenance_says():
    assert sampled_every({"every": 512}) == 512
    assert [sampled_every({"every": wrong}) for wrong in ("512", -1, None, 0)] == [0] * 4
    assert sampled_every({}) == 0
