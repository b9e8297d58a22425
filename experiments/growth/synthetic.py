"""The smallest program on which best fit hangs on the growth unit: one block that grows."""

from __future__ import annotations

from typing import Final

import numpy as np

from simalloc.trace import Op, Trace

SYNTHETIC: Final = "growing-block"
"""Name of its trace, beside the names of the shipped traces."""

STEP: Final = 4_104
"""Bytes by which the block grows, as the largest block of perl5 does most often."""

STEPS: Final = 300
SMALL: Final = 24
"""Bytes of each small object."""


def growing_block() -> Trace:
    """Return the trace: a block of `STEP` bytes, then small objects and reallocs in turn.

    Each realloc asks for `STEP` bytes more than the one before; each small object stays.
    """
    growths = np.arange(2, STEPS + 1)
    op = np.concatenate(([Op.MALLOC], np.tile([Op.MALLOC, Op.REALLOC], len(growths))))
    keys = np.zeros(len(op), np.int64)
    keys[1::2] = np.arange(1, len(growths) + 1)
    size = np.full(len(op), SMALL, np.int64)
    size[0::2] = STEP * np.arange(1, STEPS + 1)
    return Trace.from_events(op.astype(np.uint8), keys, size, name=SYNTHETIC)
