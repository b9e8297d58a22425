"""Times in nanoseconds since the start of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.formats.grammar import NO_EVENT
from simalloc.trace.formats.lines import Rows

if TYPE_CHECKING:
    from simalloc.trace.formats.log import Log


_LATEST: Final = 1 << 62


def nanoseconds(log: Log, rows: Rows, values: NDArray[np.int64], unit: int) -> NDArray[np.int64]:
    """Return times in nanoseconds. A time out of range is a mistake and becomes 0.

    `values` are in units of `unit` nanoseconds.
    """
    wrong = (values < 0) | (values > _LATEST // unit)
    if not wrong.any():
        return values * unit
    line = rows.first_line + int(np.argmax(wrong))
    count = int(np.count_nonzero(wrong))
    log.complain("times out of range", "the time is out of range", line, count)
    return np.where(wrong, 0, values * unit)


class SinceStart:
    """Subtracts the time of a log's first event from all times."""

    def __init__(self) -> None:
        self._start: int | None = None

    def __call__(self, log: Log, rows: Rows) -> Rows:
        """Return rows with times since the first event."""
        time = nanoseconds(log, rows, rows.fields["time"], 1)
        event = rows.op != NO_EVENT
        if self._start is None and event.any():
            self._start = int(time[np.argmax(event)])
        return rows._replace(fields={**rows.fields, "time": time - (self._start or 0)})
