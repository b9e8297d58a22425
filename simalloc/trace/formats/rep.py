"""The traces of the malloc lab of CS:APP: four numbers, then `a ID SIZE`, `r ID SIZE`, `f ID`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import Grammar
from simalloc.trace.formats.line_format import LineFormat
from simalloc.trace.formats.lines import printed
from simalloc.trace.formats.log import Batch, Log, Reading
from simalloc.trace.header import Header
from simalloc.trace.shapes import CheckedEvents

_EVENTS: Final = {"a {key} {size}": Op.MALLOC, "f {key}": Op.FREE, "r {key} {size}": Op.REALLOC}
_PRINTED: Final = Grammar(_EVENTS)  # in the order of the ops
_HEADER_LINES: Final = 4  # suggested heap size, ids, operations, weight


@dataclass(frozen=True)
class RepFormat(LineFormat):
    """Lines behind a header that says how many there are."""

    def read(self, log: Log) -> Reading:
        """Read the log's events; there must be as many as the header says."""
        numbers = [log.stream.readline().strip() for _ in range(_HEADER_LINES)]
        for line, number in enumerate(numbers, start=1):
            if re.fullmatch(rb"\d{1,18}", number) is None:
                raise log.wrong("the first four lines of a .rep file are numbers", line)
        return Reading(self.columns, self._counted(log, int(numbers[2])))

    def _counted(self, log: Log, said: int) -> Iterator[Batch]:
        events = 0
        for batch in self.batches(log, _HEADER_LINES + 1):
            events += len(batch.events)
            yield batch
        if events != said:
            log.complain(
                "headers that are wrong",
                f"the header says {said} operations, and there are {events}",
                _HEADER_LINES - 1,
            )


FORMAT: Final = RepFormat(
    name="rep",
    title="CS:APP .rep: a ID SIZE, r ID SIZE, f ID",
    looks=re.compile(rb"(?:[ \t]*\d+[ \t]*\r?\n){4}\s*(?:[arf][ \t]+-?\d|\Z)"),
    grammar=Grammar({**_EVENTS, "f -1": None, "": None}),  # -1: free(NULL)
)


def write(header: Header, chunks: Iterable[CheckedEvents]) -> Iterator[bytes]:
    """Yield a trace as a .rep file."""
    totals = header.totals
    yield f"{totals.max_live_bytes}\n{totals.objects}\n{totals.events}\n1\n".encode()
    for chunk in chunks:
        yield printed(_PRINTED, chunk.op, key=chunk.object, size=chunk.size)
