"""CSV logs of RAPIDS' memory manager: `Thread,Time,Action,Pointer,Size,Stream`.

rmm's `logging_resource_adaptor` writes them, with `%t,%H:%M:%S.%f` before each action. Logs before
version 21 have a colon instead of the full stop. The time is the time of day.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import NO_EVENT, Grammar
from simalloc.trace.formats.line_format import LineFormat
from simalloc.trace.formats.lines import Rows
from simalloc.trace.formats.log import Log
from simalloc.trace.formats.numbering import Numbering

_HEADING: Final = "Thread,Time,Action,Pointer,Size,Stream"
_ACTIONS: Final = {
    "allocate,{key:p},{size:u},{stream:p}": Op.MALLOC,
    "free,{key:p},{size:u},{stream:p}": Op.FREE,
    "allocate failure,{>,}{size:u},{stream:p}": Op.MALLOC,  # key 0 marks a failed allocation
}
_DAY: Final = 24 * 60 * 60 * 1_000_000  # microseconds per day
_LIMITS: Final = {"hour": 23, "minute": 59, "second": 60, "micro": 999_999}


class _Rows:
    """Numbers threads and streams, and converts times to nanoseconds since the first event."""

    def __init__(self) -> None:
        self._thread = Numbering()
        self._stream = Numbering()
        self._days = 0
        self._start: int | None = None
        self._last = 0  # microseconds from the first event's midnight

    def __call__(self, log: Log, rows: Rows) -> Rows:
        """Return the rows with the columns thread, stream and time."""
        op = self._with_valid_times(log, rows)
        event = op != NO_EVENT
        fields = dict(rows.fields)
        for name, numbering in (("thread", self._thread), ("stream", self._stream)):
            numbers = np.zeros(len(op), np.int64)
            numbers[event] = numbering(fields[name][event])
            fields[name] = numbers
        fields["time"] = np.zeros(len(op), np.int64)
        fields["time"][event] = self._since_start(rows)[event]
        return rows._replace(op=op, fields=fields)

    def _with_valid_times(self, log: Log, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        event = rows.op != NO_EVENT
        wrong = event & np.any([rows.fields[name] > _LIMITS[name] for name in _LIMITS], axis=0)
        if wrong.any():
            line = rows.first_line + int(np.argmax(wrong))
            count = int(np.count_nonzero(wrong))
            log.complain("times out of range", "the time is not a time of day", line, count)
        return np.where(wrong, np.uint8(NO_EVENT), rows.op)

    def _since_start(self, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return nanoseconds since the first event. A decrease by half a day is a midnight."""
        fields = rows.fields
        minutes = fields["hour"] * 60 + fields["minute"]
        day = (minutes * 60 + fields["second"]) * 1_000_000 + fields["micro"]
        event = np.flatnonzero(rows.op != NO_EVENT)
        micros = np.zeros(len(day), np.int64)
        if not len(event):
            return micros
        if self._start is None:
            self._start = self._last = int(day[event[0]])
        times = day[event]
        steps = np.diff(times, prepend=self._last % _DAY)
        steps[steps < -_DAY // 2] += _DAY
        micros[event] = np.maximum(self._last + np.cumsum(steps), self._start)
        self._last += int(steps.sum())
        return (micros - self._start) * 1000


FORMAT: Final = LineFormat(
    name="rmm",
    title="a CSV log of RAPIDS' memory manager (rmm)",
    looks=re.compile(
        rb"\s*(?:" + _HEADING.encode() + rb"\s|\d+,\d+:\d+:\d+[.:]\d+,(?:allocate|free)[ ,])"
    ),
    grammar=Grammar(
        {
            **{
                f"{{thread}},{{hour}}:{{minute}}:{{second}}{mark}{{micro}},{action}": op
                for mark in ".:"
                for action, op in _ACTIONS.items()
            },
            _HEADING: None,
            "": None,
        }
    ),
    pointers=True,
    change=_Rows,
    changed=("time",),
    may_begin_late=True,  # the program installs the adaptor itself
)
