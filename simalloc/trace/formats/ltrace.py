"""ltrace: `malloc(SIZE) = 0xADDRESS` among other calls, after a prefix that options determine.

A call that another call interrupts is printed in two lines, `malloc(8 <unfinished ...>` and later
`<... malloc resumed> ) = 0xADDRESS`. Calls of other threads between the two lines are requests of
the program. Calls of the same thread between the two lines are made by the allocator itself and are
not requests of the program.

Calls through a program's table of imports (-e) are printed as `malloc(`. Entries of the function
itself (-x), whoever calls it, are printed as `malloc@libc.so.6(`. A log contains only one of the
two kinds.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import NO_EVENT, Grammar
from simalloc.trace.formats.line_format import Change, LineFormat
from simalloc.trace.formats.lines import Rows
from simalloc.trace.formats.log import Log, Reading
from simalloc.trace.formats.stream import HEAD_BYTES
from simalloc.trace.formats.times import SinceStart, nanoseconds

_PREFIX: Final = re.compile(
    rb"(?P<thread>\[pid \d+\] |\d+ )?(?P<time>\d+\.\d{6} )?(?P<library>[^\s(]+->)?"
    rb"(?:malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|posix_memalign|valloc|pvalloc"
    rb"|free|_Zn\w+|_Zd\w+)(?P<entry>@[^\s(]+)?\("
)
_LINES: Final = re.compile(rb"(?:[^\n]*\n)*?" + _PREFIX.pattern + rb"[^\n]*(?:\) += |<unfinished)")

# The arguments at the beginning of a call. ltrace prints further arguments after them.
_ALLOCATIONS: Final = {
    "malloc({size:u}": Op.MALLOC,
    "calloc({count:u}, {size:u}": Op.CALLOC,
    "realloc({old:p}, {size:u}": Op.REALLOC,
    "reallocarray({old:p}, {count:u}, {size:u}": Op.REALLOC,
    "memalign({alignment}, {size:u}": Op.MALLOC,
    "aligned_alloc({alignment}, {size:u}": Op.MALLOC,
    "valloc({size:u}": Op.MALLOC,
    "pvalloc({size:u}": Op.MALLOC,
    "_ZnwmSt11align_val_t({size:u}, {alignment}": Op.MALLOC,
    "_ZnamSt11align_val_t({size:u}, {alignment}": Op.MALLOC,
    "_Zn{>(}{size:u}": Op.MALLOC,
}
_FREES: Final = ("free({key:p}", "_Zd{>(}{key:p}")
_BEGUN, _FREE_BEGUN, _RESUMED, _UNFINISHED = range(1, 5)


def _calls(*, entries: bool) -> dict[str, Op | None]:
    """Return the patterns of calls after the prefix.

    A line that begins like a call must be valid.
    """
    patterns: dict[str, Op | None] = {}
    allocations = {_named(call, entries=entries): op for call, op in _ALLOCATIONS.items()}
    frees = [_named(call, entries=entries) for call in _FREES]
    for plain, op in allocations.items():
        for call in (plain.replace("{size:u}", "0x{size:x}"), plain):
            patterns[f"{call}{{><}}unfinished ...>{{part={_BEGUN}}}"] = op
            patterns[f"{call}{{>)}} = {{key:p}}{{...}}"] = op
    for call in frees:
        patterns[f"{call}{{><}}unfinished ...>{{part={_FREE_BEGUN}}}"] = Op.FREE
        patterns[f"{call}{{>)}} = {{...}}"] = Op.FREE
    for call in (*allocations, *frees):
        name, bracket, arguments = call.partition("{>(}" if "{>(}" in call else "(")
        patterns[f"{name}{bracket}{{!}}{arguments}{{>)}} = {{key:p}}"] = None
    patterns[f"posix_memalign{'@' if entries else '('}{{...}}{{part={_UNFINISHED}}}"] = None
    return patterns


def _named(call: str, *, entries: bool) -> str:
    """Return a call's pattern. In an entry, the library follows the name."""
    return call.replace("(", "@{>(}", 1) if entries and "{>(}" not in call else call


def _prefix(found: re.Match[bytes]) -> tuple[str, str, bool]:
    """Return the prefix of a log's lines, the library of its calls, and whether calls are entries.

    All three are read from one line of the log.
    """
    before = {b"": "", b"[": "[pid {thread}] "}.get((found["thread"] or b"")[:1], "{thread} ")
    before += "{seconds}.{microseconds} " if found["time"] else ""
    return before, "{>>}" if found["library"] else "", found["entry"] is not None


@cache
def _grammar(before: str, library: str, entries: bool) -> Grammar:  # noqa: FBT001 - see _prefix
    """Return the grammar of a log with the properties that `_prefix` has found."""
    names = [call.partition("(")[0].partition("{")[0] for call in (*_ALLOCATIONS, *_FREES)]
    resumed = [f"<... {name}{'{}' if name in ('_Zn', '_Zd') else ''} resumed>" for name in names]
    return Grammar(
        {
            **{f"{before}{library}{call}": op for call, op in _calls(entries=entries).items()},
            **{f"{before}{name} ) = {{key:p}}{{...}}{{part={_RESUMED}}}": None for name in resumed},
            **{f"{before}{name}{{...}}{{part={_RESUMED}}}": None for name in resumed},
            **{
                f"{before}+++ {ending} {{...}}": Op.THREAD_END
                for ending in ("exited", "killed")
                if "{thread}" in before
            },
            "{...}": None,
        }
    )


class _Call(NamedTuple):
    """An allocation that was interrupted: its op and its fields."""

    op: int
    fields: dict[str, int]


class _Nesting:
    """Joins the two halves of calls, and removes calls that an allocator makes itself."""

    def __init__(self) -> None:
        self._open: dict[int, list[_Call]] = {}  # by thread, the innermost call last

    def __call__(self, log: Log, rows: Rows) -> Rows:
        fields = dict(rows.fields)
        if "seconds" in fields:
            seconds = nanoseconds(log, rows, fields["seconds"], 1_000_000_000)
            fields["time"] = seconds + nanoseconds(log, rows, fields["microseconds"], 1000)
        unfinished = fields["part"] == _UNFINISHED
        log.leave_out(
            "calls of posix_memalign, whose address ltrace does not show",
            int(np.count_nonzero(unfinished)),
            rows.first_line + int(np.argmax(unfinished)),
        )
        rows = rows._replace(fields=fields, op=rows.op.copy())
        if self._open or np.any((fields["part"] != 0) & ~unfinished):
            for row in np.flatnonzero((rows.op != NO_EVENT) | (fields["part"] == _RESUMED)):
                self._nest(log, rows, int(row))
        return rows

    def _nest(self, log: Log, rows: Rows, row: int) -> None:
        fields = rows.fields
        thread = int(fields["thread"][row]) if "thread" in fields else 0
        stack = self._open.get(thread, [])
        part, op = int(fields["part"][row]), int(rows.op[row])
        if op == Op.THREAD_END:
            self._open.pop(thread, None)
            return
        if part == _RESUMED:
            if stack and (call := self._resume(thread)) and not self._open.get(thread):
                rows.op[row] = call.op
                for name, value in call.fields.items():
                    fields[name][row] = value
            return
        if stack:
            rows.op[row] = NO_EVENT
            log.leave_out("calls that an allocation makes", 1, rows.first_line + row)
        if part in (_BEGUN, _FREE_BEGUN):
            kept = ("size", "count", "old", "alignment")
            self._open.setdefault(thread, []).append(
                _Call(
                    NO_EVENT if part == _FREE_BEGUN else op,
                    {name: int(fields[name][row]) for name in kept},
                )
            )
            if part == _BEGUN:
                rows.op[row] = NO_EVENT

    def _resume(self, thread: int) -> _Call:
        call = self._open[thread].pop()
        if not self._open[thread]:
            del self._open[thread]
        return call


class _Ltrace:
    """Log of ltrace. The prefix of its lines depends on the options of the recording."""

    name = "ltrace"
    title = "ltrace"

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        return _LINES.match(head) is not None

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        head = log.stream.peek(HEAD_BYTES)
        found = _LINES.match(head)
        if found is None:
            raise log.wrong("no line near its start is a call of malloc in the form of ltrace")
        line_format = LineFormat(
            name=self.name,
            title=self.title,
            looks=_LINES,
            grammar=_grammar(*_prefix(found)),
            pointers=True,
            change=_steps if found["time"] else _Nesting,
            changed=("time",) if found["time"] else (),
            may_begin_late=True,  # ltrace -p
        )
        return line_format.read(log)


def _steps() -> Change:
    nesting, since_start = _Nesting(), SinceStart()
    return lambda log, rows: since_start(log, nesting(log, rows))


FORMAT: Final = _Ltrace()
