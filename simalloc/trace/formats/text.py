"""Reader and writer of the project's plain text, with one line per event.

    m ID SIZE            malloc           f ID   free
    l ID ALIGNMENT SIZE  aligned malloc   x N    exit of thread N
    c ID SIZE            calloc           e      empty the caches
    r ID SIZE            realloc

Other lines set values for the following events. `t N` sets the thread and `@ NANOSECONDS` the
clock; both are 0 at first. A comment starts with # and ends with its line. For a device's
allocator, a request may end with the number of its stream. `u ID STREAM` adds a stream that uses an
object from then on. The comment `# thread-blocks: included` before the first event states that the
events include the C library's allocations for starting threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import TraceError
from simalloc.plural import counted
from simalloc.trace.events import OPTIONAL_COLUMNS, Op, is_of_none
from simalloc.trace.formats.grammar import NO_EVENT, Grammar
from simalloc.trace.formats.interpreting import Interpreter
from simalloc.trace.formats.lines import Rows, printed, scan
from simalloc.trace.formats.log import Batch, Log, Reading
from simalloc.trace.header import Header
from simalloc.trace.provenance import has_thread_blocks
from simalloc.trace.shapes import CheckedEvents

_SETS: Final = {"alignment": 1, "thread": 2, "time": 4, "stream": 8}
"""The columns that lines can set, and their bits in the field `sets`."""

_LINES: Final = {
    "m {key} {size}": Op.MALLOC,
    "f {key}": Op.FREE,
    "r {key} {size}": Op.REALLOC,
    "c {key} {size}": Op.CALLOC,
    "l {key} {alignment} {size}{sets=1}": Op.MALLOC,
    "t {thread}{sets=2}": None,
    "@ {time}{sets=4}": None,
    "x {thread}{sets=2}": Op.THREAD_END,
    "e": Op.EMPTY,
    "m {key} {size} {stream}{sets=8}": Op.MALLOC,
    "r {key} {size} {stream}{sets=8}": Op.REALLOC,
    "c {key} {size} {stream}{sets=8}": Op.CALLOC,
    "l {key} {alignment} {size} {stream}{sets=9}": Op.MALLOC,
    "u {key}": Op.USE,
    "u {key} {stream}{sets=8}": Op.USE,
    "": None,
}
_GRAMMAR: Final = Grammar({f"{{ }}{line}{{#}}": op for line, op in _LINES.items()})

# Formats of lines: first the lines of ops by number, with or without streams, then other lines.
_BY_OP: Final = (
    *("m {key} {size}", "f {key}", "r {key} {size}", "u {key}", "e", "c {key} {size}"),
    *("x {thread}", "l {key} {alignment} {size}", "t {thread}", "@ {time}"),
)
_ALIGNED, _THREAD, _TIME = range(len(Op), len(_BY_OP))
_PLAIN: Final = Grammar(dict.fromkeys(_BY_OP))
_WITH_STREAMS: Final = Grammar(
    dict.fromkeys(f"{line} {{stream}}" if line[0] in "mrucl" else line for line in _BY_OP)
)


@dataclass(frozen=True)
class TextFormat:
    """Plain text. An optional column begins with the first line that sets it."""

    name: str = "text"
    title: str = "plain text: m ID SIZE, r ID SIZE, f ID"
    looks: re.Pattern[bytes] = re.compile(
        rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*(?:[mclrfxut@][ \t]+\d|e[ \t]*(?:#[^\n]*)?\r?\n|\Z)"
    )

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        return self.looks.match(head) is not None

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        return Reading((), _batches(log))


FORMAT: Final = TextFormat()

_THREAD_BLOCKS: Final = b"# thread-blocks: included\n"
_STATES_THREAD_BLOCKS: Final = re.compile(
    rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*?# thread-blocks: included[ \t]*\r?\n"
)


def states_thread_blocks(head: bytes) -> bool:
    """Return whether a comment before the first event states that thread blocks are included."""
    return _STATES_THREAD_BLOCKS.match(head) is not None


def _batches(log: Log) -> Iterator[Batch]:
    """Yield the events, each with the column values set before it."""
    columns_set = 0
    thread, time = _Held(log, "thread"), _Held(log, "time")
    for rows in scan(log, _GRAMMAR):
        columns_set |= int(np.bitwise_or.reduce(rows.fields["sets"][: len(rows.op)]))
        columns = tuple(
            name for name in OPTIONAL_COLUMNS if name in _SETS and columns_set & _SETS[name]
        )
        interpreter = Interpreter(log, columns, pointers=False, hexadecimal=False)
        yield interpreter.batch(thread.filled(time.filled(rows)))


class _Held:
    """A number that some lines set for all events after them."""

    def __init__(self, log: Log, name: str) -> None:
        self._log = log
        self._name = name
        self._max = np.iinfo(OPTIONAL_COLUMNS[name]).max
        self._value = 0

    def filled(self, rows: Rows) -> Rows:
        """Return the rows. An event without its own value gets the current value."""
        is_set = rows.fields["sets"][: len(rows.op)] == _SETS[self._name]
        given = rows.fields[self._name][: len(rows.op)]
        sets = is_set & (rows.op == NO_EVENT)
        beyond = sets & (given > self._max)
        if beyond.any():
            self._complain(rows, beyond)
            sets &= ~beyond
        values = np.concatenate([[self._value], given[sets]])[np.cumsum(sets)]
        self._value = int(values[-1])
        own = is_set & (rows.op != NO_EVENT)
        values[own] = given[own]
        return rows._replace(fields={**rows.fields, self._name: values})

    def _complain(self, rows: Rows, beyond: NDArray[np.bool_]) -> None:
        line = rows.first_line + int(np.argmax(beyond))
        reason = f"the {self._name} is not from 0 to {self._max}"
        kind = f"lines whose {self._name} is out of range"
        self._log.complain(kind, reason, line, int(np.count_nonzero(beyond)))


def write(header: Header, chunks: Iterable[CheckedEvents]) -> Iterator[bytes]:
    """Yield a trace as plain text, without its sites and pools."""
    totals = header.totals
    grammar = _WITH_STREAMS if "stream" in header.columns else _PLAIN
    events, objects = counted(totals.events, "event"), counted(totals.objects, "object")
    yield f"# {header.name!r}: {events}, {objects}\n".encode()
    if has_thread_blocks(header.provenance):
        yield _THREAD_BLOCKS
    thread, time = _Change(), _Change()
    for chunk in chunks:
        ends = chunk.op == Op.THREAD_END
        new_thread = thread.of(chunk.columns.get("thread"), ~ends)
        new_time = time.of(_clock(chunk), np.ones(len(chunk), np.bool_))
        lines = np.repeat(np.arange(len(chunk)), 1 + new_thread + new_time)
        last = np.cumsum(1 + new_thread + new_time) - 1
        kind = np.empty(len(lines), np.uint8)
        kind[last] = _kinds(chunk)
        kind[last[new_time] - 1] = _TIME
        kind[last[new_thread] - 1 - new_time[new_thread]] = _THREAD
        fields = _fields(chunk, grammar)
        yield printed(grammar, kind, **{name: values[lines] for name, values in fields.items()})


class _Change:
    """Finds changes of a column, from its first event on."""

    def __init__(self) -> None:
        self._last: int | None = None

    def of(self, column: NDArray[Any] | None, where: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a mask of the events in `where` whose value differs from the previous one."""
        changes = np.zeros(len(where), np.bool_)
        at = np.flatnonzero(where)
        if column is None or not len(at):
            return changes
        values = column[at].astype(np.int64)
        changes[at[1:]] = values[1:] != values[:-1]
        changes[at[0]] = self._last is None or int(values[0]) != self._last
        self._last = int(values[-1])
        return changes


def _clock(chunk: CheckedEvents) -> NDArray[np.int64] | None:
    time = chunk.columns.get("time")
    if time is not None and time.min(initial=0) < 0:
        raise TraceError("the trace has times before the start, which text cannot express")
    return time


def _kinds(chunk: CheckedEvents) -> NDArray[np.uint8]:
    """Return the kind of line of each event."""
    alignment = chunk.columns.get("alignment")
    if alignment is None:
        return chunk.op
    aligned = (chunk.op == Op.MALLOC) & (alignment > 0)
    return np.where(aligned, np.uint8(_ALIGNED), chunk.op)


def _fields(chunk: CheckedEvents, grammar: Grammar) -> dict[str, NDArray[Any]]:
    """Return the numbers in a chunk's lines, or 0 for missing numbers."""
    known = {"key": chunk.object, "size": chunk.size, **chunk.columns}
    nothing = np.zeros(len(chunk), np.int64)
    fields = {name: known.get(name, nothing) for name in grammar.fields}
    return {**fields, "key": np.where(is_of_none(chunk.op), 0, fields["key"])}
