"""Times of events in both kinds of heaptrack files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.trace.formats.lines import Rows
from simalloc.trace.formats.times import nanoseconds

if TYPE_CHECKING:
    from simalloc.trace.formats.log import Log

TICK: Final = 1
"""The `kind` of the lines `c MILLISECONDS`."""

_MILLISECOND: Final = 1_000_000  # nanoseconds


class Clock:
    """Assigns each event the time of the last `c` line before it.

    heaptrack writes a `c` line about every ten milliseconds.
    """

    def __init__(self) -> None:
        self._now = 0

    def __call__(self, log: Log, rows: Rows) -> Rows:
        """Return the next rows with a field `time`, in nanoseconds."""
        ticks = np.flatnonzero(rows.fields["kind"] == TICK)
        times = nanoseconds(log, rows, rows.fields["milliseconds"], _MILLISECOND)[ticks]
        known = np.concatenate(([self._now], times))
        self._now = int(known[-1])
        time = known[np.searchsorted(ticks, np.arange(len(rows.op)), side="right")]
        return rows._replace(fields={**rows.fields, "time": time})
