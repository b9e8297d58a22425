"""Firefox's logalloc: `PID TID malloc(SIZE)=0xADDRESS`, or the output of logalloc_munge.py."""

from __future__ import annotations

import re
from typing import Final

from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import Grammar
from simalloc.trace.formats.line_format import LineFormat

_CALLS: Final = {
    "free({!}{key:p})": Op.FREE,
    "malloc({!}{size:u})={key:p}": Op.MALLOC,
    "calloc({!}{count:u},{size:u})={key:p}": Op.CALLOC,
    "realloc({!}{old:p},{size:u})={key:p}": Op.REALLOC,
    "memalign({!}{alignment},{size:u})={key:p}": Op.MALLOC,
    "posix_memalign({!}{alignment},{size:u})={key:p}": Op.MALLOC,
    "aligned_alloc({!}{alignment},{size:u})={key:p}": Op.MALLOC,
    "valloc({!}{size:u})={key:p}": Op.MALLOC,
    "jemalloc_stats({...}": None,
}

FORMAT: Final = LineFormat(
    name="logalloc",
    title="Firefox logalloc",
    looks=re.compile(
        rb"\d+ \d+ (?:malloc|calloc|realloc|memalign|posix_memalign|aligned_alloc|valloc|free"
        rb"|jemalloc_stats)\([^\n )]*\)(?:=|\r?\n)"
    ),
    grammar=Grammar(
        {f"{{process}} {{thread}} {call}": op for call, op in _CALLS.items()},
    ),
    pointers=True,
)
