"""valgrind --trace-malloc=yes: `--PID-- malloc(SIZE) = 0xADDRESS` among its other messages."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import Grammar
from simalloc.trace.formats.line_format import LineFormat
from simalloc.trace.formats.lines import Rows
from simalloc.trace.formats.log import Log

# The C++ operators new and delete appear under their mangled names, which begin with _Zn and _Zd.
_CALLS: Final = {
    "free({key:p})": Op.FREE,
    "malloc({size:u}) = {key:p}": Op.MALLOC,
    "_Zd{>(}{key:p})": Op.FREE,
    "_Zn{>(}{size:u}) = {key:p}": Op.MALLOC,
    "_Zn{>(}size {size:u}, al {alignment}) = {key:p}": Op.MALLOC,
    "calloc({count:u},{size:u}) = {key:p}": Op.CALLOC,
    "memalign(al {alignment}, size {size:u}) = {key:p}": Op.MALLOC,
    "realloc({old:p},{size:u}) = {key:p}": Op.REALLOC,
    "realloc(0x0,{size:u})malloc({>)} = {key:p}": Op.MALLOC,
    "realloc({key:p},0)free({>)}": Op.FREE,
}
_OVERFLOWN: Final = "calloc({>)}"
"""A calloc whose product overflows. Its line has no newline, so the next call follows in the same
line.
"""


def _patterns() -> dict[str, Op | None]:
    """Return the patterns of calls. A line that begins like a call is a call, failed or wrong."""
    patterns: dict[str, Op | None] = {**_CALLS}
    for failed in (1, 2):
        before, count = _OVERFLOWN * failed, f"{{failed={failed}}}"
        patterns |= {f"{before}{call}{count}": op for call, op in _CALLS.items()}
        refused = f"{_OVERFLOWN * (failed - 1)}{{>(}}{{>)}}"
        patterns[f"{refused}Argument {{...}}{count}"] = None
    for call in _CALLS:
        name, bracket, arguments = call.partition("{>(}" if "{>(}" in call else "(")
        patterns[f"{name}{bracket}{{!}}{arguments}"] = None
    return patterns


def _without_failed(log: Log, rows: Rows) -> Rows:
    failed = rows.fields["failed"]
    line = rows.first_line + int(np.argmax(failed != 0))
    log.leave_out("allocations that failed", int(failed.sum()), line)
    return rows


FORMAT: Final = LineFormat(
    name="valgrind",
    title="valgrind --trace-malloc=yes",
    looks=re.compile(
        rb"(?:[^\n]*\n)*?--\d+-- (?:malloc|calloc|realloc|memalign|free|_Zn\w*|_Zd\w*)\("
    ),
    grammar=Grammar(
        {
            **{f"--{{process}}-- {call}": op for call, op in _patterns().items()},
            "--{}{...}": None,
            "=={}{...}": None,
            "**{}{...}": None,
        }
    ),
    pointers=True,
    change=lambda: _without_failed,
)
