"""A timeline as bytes, for a file of results."""

from __future__ import annotations

import zlib

import numpy as np

from simalloc.heap import Timeline


def pack_timeline(timeline: Timeline) -> bytes:
    """Return live low and high, heap low and high of each interval: float64, deflated."""
    extremes = np.column_stack(
        (timeline.live_low, timeline.live_high, timeline.heap_low, timeline.heap_high)
    )
    return zlib.compress(extremes.astype("<f8").tobytes())


def unpack_timeline(interval: int, packed: bytes) -> Timeline:
    """Return the timeline again; raises `ValueError` if the bytes are none."""
    try:
        extremes = np.frombuffer(zlib.decompress(packed), "<f8").reshape(-1, 4)
    except zlib.error as error:
        raise ValueError(f"a timeline is damaged: {error}") from error
    return Timeline(interval, *(extremes[:, column] for column in range(4)))
