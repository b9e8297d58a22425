"""The smallest device on which a program runs to its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from simalloc.heap.device_figures import DeviceFigures
from simalloc.heap.watch.device_replay import figures_in_core
from simalloc.policy.device import UNLIMITED, PyTorch
from simalloc.trace import Trace

STEP: Final = 2 << 20
"""Step of tried capacities in bytes: a device's granule."""


class Enough(NamedTuple):
    """A sufficient capacity, without an out-of-memory error."""

    capacity: int
    figures: DeviceFigures
    """Figures of a run with this capacity."""
    exact: bool
    """True if the capacity is the minimum."""


def smallest_device(
    trace: Trace,
    description: PyTorch,
    figures: DeviceFigures,
    fits: int | None = None,
    *,
    halted: Callable[[], bool] = lambda: False,
) -> Enough:
    """Return the minimum capacity without an out-of-memory error, or the best so far if `halted`.

    The capacity is found by bisection. The lower end is the peak of requested bytes. The upper end
    is `fits`, a capacity known to be sufficient, or the peak of reserved bytes on a device of
    unlimited memory (`figures`). Success is not strictly monotone in the capacity: a smaller device
    might succeed by chance. If ranges of expandable segments are too short for a request, no device
    is sufficient and the capacity is `UNLIMITED`.
    """
    if figures.first_refused_event:
        return Enough(UNLIMITED, figures, exact=True)
    fails = max(up(figures.peak_requested_bytes) - STEP, 0)
    enough = fits or max(up(figures.peak_reserved_bytes), STEP)
    found = figures
    if fits or not _is_known(description):
        found = run_at(trace, description, enough)
    while found.first_refused_event:  # a memory fraction allows only a part of the peak
        enough += max(STEP, up(enough // 64))
        found = run_at(trace, description, enough)
    while enough - fails > STEP and not halted():
        middle = fails + (enough - fails) // STEP // 2 * STEP
        tried = run_at(trace, description, middle)
        if tried.first_refused_event:
            fails = middle
        else:
            enough, found = middle, tried
    return Enough(enough, found, enough - fails <= STEP)


def _is_known(description: PyTorch) -> bool:
    """Return whether a device of the peak reserved bytes behaves like one of unlimited memory.

    No request is refused on such a device, with two exceptions. A limit or a range of addresses may
    depend on the capacity, or the device may allocate more for a segment than its size.
    """
    rules = description.rules
    by_capacity = rules.allowed is not None or rules.expandable or rules.large_segment % STEP
    return not by_capacity


def up(size: int) -> int:
    """Round up to a multiple of `STEP`."""
    return -(-size // STEP) * STEP


def run_at(trace: Trace, description: PyTorch, capacity: int) -> DeviceFigures:
    """Return the figures of a run on a device of a capacity."""
    return figures_in_core(trace, replace(description, capacity=capacity))
