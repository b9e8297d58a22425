"""The plan that TensorFlow Lite Micro's greedy planner prints (`PrintMemoryPlan`).

A line contains a buffer's size and the first and last step that use the buffer. The offset is
ignored, because a trace contains requests and not placements. Other lines, such as the picture of
the plan, are not events. If the log has several plans, their buffers follow each other in time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from simalloc.trace.formats.lifetimes import Row, batches_of
from simalloc.trace.formats.log import Batch, Log, Reading

_MARK: Final = b"Planner buffer ID:"
_LINE: Final = re.compile(
    rb"Planner buffer ID: (\d{1,9}), calculated offset: -?\d+, size required: (\d{1,18}), "
    rb"first_time_created: (\d{1,9}), last_time_used: (\d{1,9})\b"
)


class _Plan:
    """A plan with one line per buffer, among other lines."""

    name = "tflite-micro"
    title = "the memory plan that TensorFlow Lite Micro prints"

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        return _LINE.search(head) is not None

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        return Reading((), _batches(log))


def _batches(log: Log) -> Iterator[Batch]:
    return batches_of(list(_rows(log)))


def _rows(log: Log) -> Iterator[Row]:
    base = end = number = 0
    previous = -1
    while line := log.stream.readline():
        number += 1
        if _MARK not in line:
            continue
        found = _LINE.search(line)
        if found is None:
            text = "the line does not have the form in which TensorFlow Lite Micro prints a buffer"
            log.complain("lines that are not of the format", text, number)
            continue
        buffer, size, first, last = map(int, found.groups())
        if last < first:
            text = "the buffer is last used before it is created"
            log.complain("lifetimes of nothing", text, number)
            continue
        if buffer <= previous:
            base = end
        previous = buffer
        end = max(end, base + last + 1)
        yield Row(number, base + first, base + last + 1, size)


FORMAT: Final = _Plan()
