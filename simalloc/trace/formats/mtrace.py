"""glibc's mtrace: `@ CALLER + ADDRESS SIZE`, `- ADDRESS`, and a realloc as `< OLD` `> NEW SIZE`."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import NO_EVENT, Grammar
from simalloc.trace.formats.line_format import LineFormat
from simalloc.trace.formats.lines import Rows
from simalloc.trace.formats.log import Log
from simalloc.trace.formats.numbering import Numbering

# Values of `half`, for the two lines of a realloc and for a failed realloc. glibc writes both lines
# under one lock.
_FIRST, _SECOND, _FAILED = 1, 2, 3
_LINES: Final = {
    "+ {key:p} {size:p}": Op.MALLOC,
    "- {key:p}": Op.FREE,
    "< {key:p}{half=1}": None,
    "> {key:p} {size:p}{half=2}": Op.REALLOC,
    "! {key:p} {size:p}{half=3}": None,
}


class _Pairs:
    """Copies each realloc's address from its first to its second line, and numbers callers."""

    def __init__(self) -> None:
        self._open: int | None = None  # address of a first half at the end of the last run
        self._callers = Numbering(first=1)

    def __call__(self, log: Log, rows: Rows) -> Rows:
        half, key = rows.fields["half"], rows.fields["key"]
        before = np.concatenate(([_FIRST if self._open is not None else 0], half[:-1]))
        old = np.concatenate(([self._open or 0], key[:-1]))
        op = rows.op.copy()
        alone = (half == _SECOND) & (before != _FIRST)
        left = (before == _FIRST) & (half != _SECOND)
        for halves, other in ((alone, "<"), (left, ">")):
            if halves.any():
                line = rows.first_line + int(np.argmax(halves))
                text = f"half of a realloc is missing: no line with {other} precedes this line"
                log.complain("halves of a realloc", text, line, int(np.count_nonzero(halves)))
        op[alone] = NO_EVENT
        log.leave_out(
            "allocations that failed",
            int(np.count_nonzero(half == _FAILED)),
            rows.first_line + int(np.argmax(half == _FAILED)),
        )
        self._open = int(key[-1]) if half[-1] == _FIRST else None
        site = self._sites(log, rows)
        return rows._replace(op=op, fields={**rows.fields, "old": old, "site": site})

    def _sites(self, log: Log, rows: Rows) -> NDArray[np.int64]:
        """Return a number for each caller and store its name, or 0 for lines without a caller."""
        callers = rows.fields["caller"]
        sites = np.zeros(len(callers), np.int64)
        known = np.flatnonzero(callers)
        sites[known] = self._callers(callers[known])
        new = known[self._callers.new]
        if len(new) and log.sites.wants(int(sites[new[0]])):
            for row, line in zip(new, rows.lines(new), strict=True):
                log.sites.put(int(sites[row]), line.removeprefix("@ ").partition("]")[0] + "]")
        return sites


FORMAT: Final = LineFormat(
    name="mtrace",
    title="glibc's mtrace",
    looks=re.compile(rb"= Start\b|(?:@ [^\n]*\] )?[-+<>] 0x[0-9a-f]+[ \n]"),
    grammar=Grammar(
        {
            **{f"@ {{caller>]}} {line}": op for line, op in _LINES.items()},
            **_LINES,
            "= {...}": None,
        }
    ),
    pointers=True,
    change=_Pairs,
    changed=("site",),
    may_begin_late=True,  # the program calls mtrace()
)
