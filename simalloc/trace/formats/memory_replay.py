"""Android's memory_replay: `TID: malloc ADDRESS SIZE`, with or without START and END times."""

from __future__ import annotations

import re
from typing import Final

from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import Grammar
from simalloc.trace.formats.line_format import LineFormat
from simalloc.trace.formats.log import Log, Reading
from simalloc.trace.formats.stream import HEAD_BYTES
from simalloc.trace.formats.times import SinceStart

_CALLS: Final = {
    "malloc {key:p} {size:u}": Op.MALLOC,
    "free {key:p}": Op.FREE,
    "calloc {key:p} {count:u} {size:u}": Op.CALLOC,
    "realloc {key:p} {old:p} {size:u}": Op.REALLOC,
    "memalign {key:p} {alignment} {size:u}": Op.MALLOC,
}
_LINE: Final = (
    rb"\d+: (?:malloc \S+ \d+|free \S+|thread_done \S+|(?:calloc|realloc|memalign) \S+ \S+ \d+)"
)
_TIMED_LINE: Final = re.compile(_LINE + rb" \d+ \d+\s")


def _with(times: str, ends: dict[str, Op | None]) -> LineFormat:
    return LineFormat(
        name="memory_replay",
        title="Android memory_replay",
        looks=re.compile(_LINE + rb"\s"),
        grammar=Grammar(
            {
                **{f"{{thread}}: {call}{times}": op for call, op in _CALLS.items()},
                **ends,
            }
        ),
        pointers=True,
        change=SinceStart if times else None,
    )


_PLAIN: Final = _with("", {"{thread}: thread_done {...}": Op.THREAD_END})
_TIMED: Final = _with(
    " {time} {end}",
    {"{thread}: thread_done {} {time}": Op.THREAD_END, "{thread}: thread_done {...}": None},
)


class _MemoryReplay:
    """Log of memory_replay. Either all lines or none have times."""

    name = _PLAIN.name
    title = _PLAIN.title

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        return _PLAIN.sniff(head)

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        timed = _TIMED_LINE.match(log.stream.peek(HEAD_BYTES))
        return (_TIMED if timed else _PLAIN).read(log)


FORMAT: Final = _MemoryReplay()
