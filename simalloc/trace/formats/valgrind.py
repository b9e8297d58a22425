"""valgrind --trace-malloc=yes: `--PID-- malloc(SIZE) = 0xADDRESS` among its other messages."""

from __future__ import annotations

import re
from typing import Final

from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import Grammar
from simalloc.trace.formats.line_format import LineFormat

# operator new and delete appear under their mangled names, which begin with _Zn and _Zd.
_CALLS: Final = {
    "free({!}{key:p})": Op.FREE,
    "malloc({!}{size}) = {key:p}": Op.MALLOC,
    "_Zd{!}{>(}{key:p})": Op.FREE,
    "_Zn{>(}{size}) = {key:p}": Op.MALLOC,
    "_Zn{!}{>(}size {size}, al {alignment}) = {key:p}": Op.MALLOC,
    "calloc({!}{count},{size}) = {key:p}": Op.MALLOC,
    "memalign({!}al {alignment}, size {size}) = {key:p}": Op.MALLOC,
    "realloc({old:p},{size}) = {key:p}": Op.REALLOC,
    "realloc(0x0,{size})malloc({>)} = {key:p}": Op.MALLOC,
    "realloc({!}{key:p},0)free({>)}": Op.FREE,
}

FORMAT: Final = LineFormat(
    name="valgrind",
    title="valgrind --trace-malloc=yes",
    looks=re.compile(
        rb"(?:[^\n]*\n)*?--\d+-- (?:malloc|calloc|realloc|memalign|free|_Zn\w*|_Zd\w*)\("
    ),
    grammar=Grammar(
        {
            **{f"--{{process}}-- {call}": op for call, op in _CALLS.items()},
            "--{}{...}": None,
            "=={}{...}": None,
            "**{}{...}": None,
        }
    ),
    pointers=True,
)
