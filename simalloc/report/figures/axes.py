"""Axes with units: bytes in KiB and MiB, events in thousands and millions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    MultipleLocator,
    NullLocator,
)

from simalloc.report.units import byte_step, spell_events, spell_share
from simalloc.sizes import spell_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

_SHARES: Final = (0, 0.5, *(step * 10**power for power in range(6) for step in (1, 2, 5)))
"""Percentages at which an axis can have marks."""
_MOST_MARKS: Final = 12
"""Maximum number of marks that do not touch. If more fit, only powers of ten are marked."""


def bytes_axis(axis: Axis, top: float) -> None:
    """Mark an axis from 0 to `top` bytes at round numbers of its unit."""
    axis.set_major_locator(MultipleLocator(byte_step(top)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: spell_bytes(value)))


def log_bytes_axis(axis: Axis) -> None:
    """Mark a logarithmic axis of bytes at every fifth power of two."""
    axis.set_major_locator(LogLocator(base=32.0, numticks=20))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: spell_bytes(value)))


def events_axis(axis: Axis) -> None:
    """Mark an axis of events."""
    axis.set_major_locator(MaxNLocator(5, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: spell_events(value)))


def share_axis(axes: Axes, values: Sequence[float]) -> None:
    """Mark the horizontal axis for fractions, in percent: linear up to 1 %, then logarithmic."""
    axes.set_xscale("symlog", linthresh=0.01, linscale=0.6)
    axes.set_xlim(min(0.0, *values) - 0.0004, max(0.01, *values) * 1.15)
    marks = [share / 100 for share in _SHARES if share / 100 <= axes.get_xlim()[1]]
    if len(marks) > _MOST_MARKS:
        marks = [0, *(10**power / 100 for power in range(6))]
    axes.xaxis.set_major_locator(FixedLocator(marks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(share_formatter())


def share_formatter() -> FuncFormatter:
    """Return a formatter of the round fractions at the marks of an axis, in percent."""
    return FuncFormatter(lambda value, _: spell_share(value))
