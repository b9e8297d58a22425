"""The project's plain text: `m ID SIZE`, `r ID SIZE`, `f ID`, and comments behind #."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import Grammar
from simalloc.trace.formats.line_format import LineFormat
from simalloc.trace.formats.lines import printed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from simalloc.trace.header import Header
    from simalloc.trace.intake import Chunk

_EVENTS: Final = {
    "m {key} {size}": Op.MALLOC,
    "f {key}": Op.FREE,
    "r {key} {size}": Op.REALLOC,
}
_PRINTED: Final = Grammar(_EVENTS)  # in the order of the ops

FORMAT: Final = LineFormat(
    name="text",
    title="plain text: m ID SIZE, r ID SIZE, f ID",
    looks=re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?:[mrf][ \t]+\d|\Z)"),
    grammar=Grammar({**_EVENTS, "{ }#{...}": None, "": None}),
)


def write(header: Header, chunks: Iterable[Chunk]) -> Iterator[bytes]:
    """Yield a trace as plain text."""
    totals = header.totals
    yield f"# {header.name!r}: {totals.events} events, {totals.objects} objects\n".encode()
    for chunk in chunks:
        yield printed(_PRINTED, chunk.op, key=chunk.object, size=chunk.size)
