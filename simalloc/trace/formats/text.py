"""The project's plain text: `m ID SIZE`, `r ID SIZE`, `f ID`, and comments behind #.

A device's allocator has streams besides: `m ID SIZE STREAM`, `u ID STREAM` where another stream
uses an object from now on, and `e` where the program gives back what is cached.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from simalloc.plural import counted
from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import Grammar
from simalloc.trace.formats.line_format import LineFormat
from simalloc.trace.formats.lines import printed
from simalloc.trace.formats.stream import HEAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from simalloc.trace.formats.log import Log, Reading
    from simalloc.trace.header import Header
    from simalloc.trace.intake import Chunk

# Each in the order of the ops, for printing.
_PLAIN: Final = {
    "m {key} {size}": Op.MALLOC,
    "f {key}": Op.FREE,
    "r {key} {size}": Op.REALLOC,
    "u {key}": Op.USE,
    "e": Op.EMPTY,
}
_WITH_STREAMS: Final = {
    "m {key} {size} {stream}": Op.MALLOC,
    "f {key}": Op.FREE,
    "r {key} {size} {stream}": Op.REALLOC,
    "u {key} {stream}": Op.USE,
    "e": Op.EMPTY,
}
_COMMENTS: Final = {"{ }#{...}": None, "": None}
_STREAM: Final = re.compile(
    rb"^(?:[mr][ \t]+\d+[ \t]+\d+[ \t]+\d|u[ \t]+\d+[ \t]+\d)", re.MULTILINE
)
"""A line that names a stream."""


@dataclass(frozen=True)
class TextFormat(LineFormat):
    """Plain text, which has streams if a line near its beginning names one."""

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        if _STREAM.search(log.stream.peek(HEAD_BYTES)):
            return LineFormat.read(replace(self, grammar=_GRAMMAR_WITH_STREAMS), log)
        return super().read(log)


_GRAMMAR_WITH_STREAMS: Final = Grammar({**_WITH_STREAMS, **_PLAIN, **_COMMENTS})

FORMAT: Final = TextFormat(
    name="text",
    title="plain text: m ID SIZE, r ID SIZE, f ID",
    looks=re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?:[mrfu][ \t]+\d|e[ \t]*\r?\n|\Z)"),
    grammar=Grammar({**_PLAIN, **_COMMENTS}),
)


def write(header: Header, chunks: Iterable[Chunk]) -> Iterator[bytes]:
    """Yield a trace as plain text."""
    totals = header.totals
    grammar = Grammar(_WITH_STREAMS if "stream" in header.columns else _PLAIN)
    events, objects = counted(totals.events, "event"), counted(totals.objects, "object")
    yield f"# {header.name!r}: {events}, {objects}\n".encode()
    for chunk in chunks:
        fields = {"key": chunk.object, "size": chunk.size, **chunk.columns}
        yield printed(grammar, chunk.op, **{name: fields[name] for name in grammar.fields})
