"""Text format of Bohra & Gabber 2001 (section 4): `Allocate <tag> <size>` and `Free <tag>`.

A tag is an address or a number. A tag is read as hexadecimal even without 0x, so that different
tags always have different keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import Grammar
from simalloc.trace.formats.line_format import LineFormat
from simalloc.trace.formats.lines import printed
from simalloc.trace.header import Header
from simalloc.trace.shapes import CheckedEvents

FORMAT: Final = LineFormat(
    name="gabber",
    title="Gabber's text: Allocate TAG SIZE, Free TAG",
    looks=re.compile(rb"\s*(?:Allocate|Free)[ \t]+[0-9a-fA-Fx]+[ \t\r\n]"),
    grammar=Grammar(
        {"Allocate {key:p} {size}": Op.MALLOC, "Free {key:p}": Op.FREE, "": None},
    ),
)

# A realloc has the third kind. The format has no realloc, so it is written as a Free and an
# Allocate.
_PRINTED: Final = Grammar({"Allocate {key} {size}": Op.MALLOC, "Free {key}": Op.FREE})


def write(header: Header, chunks: Iterable[CheckedEvents]) -> Iterator[bytes]:
    """Yield a trace as Gabber's text. A realloc becomes a Free and an Allocate of its tag."""
    del header  # the format has no comments
    for chunk in chunks:
        realloc = chunk.op == Op.REALLOC
        lines = np.repeat(np.arange(len(chunk)), 1 + realloc)
        kind = chunk.op[lines]
        second = np.flatnonzero(np.diff(lines, prepend=-1) == 0)
        kind[second - 1], kind[second] = Op.FREE, Op.MALLOC
        yield printed(_PRINTED, kind, key=chunk.object[lines], size=chunk.size[lines])
