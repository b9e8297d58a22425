"""heaptrack: the raw file is read; the interpreted one has lost the addresses and is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import Grammar
from simalloc.trace.formats.line_format import LineFormat
from simalloc.trace.formats.stream import HEAD_BYTES
from simalloc.trace.formats.times import nanoseconds

if TYPE_CHECKING:
    from simalloc.trace.formats.lines import Rows
    from simalloc.trace.formats.log import Log, Reading

_START: Final = rb"v [0-9a-f]+ [0-9a-f]+\r?\n"
_INTERPRETED: Final = re.compile(_START + rb"(?:[^\n]*\n)*?[sia] ")
_MILLISECOND: Final = 1_000_000  # nanoseconds


class _Clock:
    """Gives each event the time of the last `c` line before it, every ten milliseconds or so."""

    def __init__(self) -> None:
        self._now = 0

    def __call__(self, log: Log, rows: Rows) -> Rows:
        ticks = np.flatnonzero(rows.fields["tick"])
        times = nanoseconds(log, rows, rows.fields["milliseconds"], _MILLISECOND)[ticks]
        known = np.concatenate(([self._now], times))
        self._now = int(known[-1])
        time = known[np.searchsorted(ticks, np.arange(len(rows.op)), side="right")]
        return rows._replace(fields={**rows.fields, "time": time})


@dataclass(frozen=True)
class HeaptrackFormat(LineFormat):
    """The raw file; an interpreted one begins alike."""

    def read(self, log: Log) -> Reading:
        """Read the log's events, or say how to record a file that has the addresses."""
        if _INTERPRETED.match(log.stream.peek(HEAD_BYTES)):
            raise log.wrong(
                "is a file that heaptrack has interpreted: it no longer says which object a free "
                "is of. Record again with `heaptrack --raw COMMAND`, and import the .raw.zst file"
            )
        return super().read(log)


FORMAT: Final = HeaptrackFormat(
    name="heaptrack",
    title="heaptrack --raw",
    looks=re.compile(_START),
    grammar=Grammar(
        {
            "+{!} {size:x} {site:x} {key:x}": Op.MALLOC,
            "-{!} {key:x}": Op.FREE,
            "c{!} {milliseconds:x}{tick=1}": None,
            **{f"{letter} {{...}}": None for letter in "tmRvxXIS"},
            **dict.fromkeys("AS"),
            "#{...}": None,
        }
    ),
    pointers=True,
    change=_Clock,
    changed=("time",),
)
