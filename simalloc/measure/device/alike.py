"""Settings under which an allocator does the same with a trace, whatever the device's capacity."""

from __future__ import annotations

from collections.abc import Hashable

from simalloc.measure.device.smallest import STEP, up
from simalloc.policy.device import PyTorch


def behaviour(description: PyTorch, largest: int) -> Hashable:
    """Return what is the same for settings that cannot be told apart by a trace.

    `largest` is the trace's largest request in bytes. A split size that no segment reaches says
    nothing: no block is that large. With expandable segments blocks grow past any segment.
    """
    rules, given = description.rules, description.resolved
    rounded = 1 << max(largest - 1, 1).bit_length()  # no rounding goes beyond a power of two
    segment = max(up(rounded), rules.large_segment, STEP)
    if rules.max_split is not None and rules.max_split > segment and not rules.expandable:
        rules = rules._replace(max_split=None)
    if rules.max_split is None:
        rules = rules._replace(non_split_rounding=0)
    limits = given.fraction, given.garbage_collection_threshold
    return rules, limits if given.fraction < 1 else None
