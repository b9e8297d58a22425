"""The smallest program on which best fit depends on the growth unit: one block that grows."""

from __future__ import annotations

from typing import Final

import numpy as np

from simalloc.trace import Op, Trace

SYNTHETIC: Final = "growing-block"
"""Name of the synthetic trace, besides the names of the shipped traces."""

STEP: Final = 4_104
"""Bytes by which the block grows, the most frequent growth of perl5's largest block."""

STEPS: Final = 300
SMALL: Final = 24
"""Size of each small object in bytes."""


def growing_block() -> Trace:
    """Return the trace: a block of `STEP` bytes, then small objects and reallocs in turn.

    Each realloc requests `STEP` bytes more than the previous one; no small object is freed.
    """
    growths = np.arange(2, STEPS + 1)
    op = np.concatenate(([Op.MALLOC], np.tile([Op.MALLOC, Op.REALLOC], len(growths))))
    keys = np.zeros(len(op), np.int64)
    keys[1::2] = np.arange(1, len(growths) + 1)
    size = np.full(len(op), SMALL, np.int64)
    size[0::2] = STEP * np.arange(1, STEPS + 1)
    return Trace.from_events(op.astype(np.uint8), keys, size, name=SYNTHETIC)
