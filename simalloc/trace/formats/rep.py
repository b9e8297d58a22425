"""The traces of the malloc lab of CS:APP and its dialects: `a ID SIZE`, `r ID SIZE`, `f ID`.

The header may contain four numbers: suggested heap size, ids, operations and weight. Headers with
three numbers lack the weight, and headers with two numbers contain only ids and operations. A file
may also have no header. The numbers may be in one or several lines. A comment begins with # and
ends with its line. The lab's driver supports null pointers. A realloc of an id without a block
allocates a block. A realloc to 0 frees the block, and a later free of this id has no effect. The
driver stops at the header's number of operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.plural import counted
from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import NO_EVENT, Grammar
from simalloc.trace.formats.line_format import LineFormat
from simalloc.trace.formats.lines import Rows, printed
from simalloc.trace.formats.log import Batch, Log, Reading
from simalloc.trace.header import Header
from simalloc.trace.shapes import CheckedEvents

_EVENTS: Final = {"a {key} {size}": Op.MALLOC, "f {key}": Op.FREE, "r {key} {size}": Op.REALLOC}
_PRINTED: Final = Grammar(_EVENTS)  # patterns in the order of the ops
_PLACE_OF_OPERATIONS: Final = {4: 2, 3: 2, 2: 1}
"""Index of the number of operations, by the length of the header."""
_NUMBERS: Final = re.compile(rb"[ \t]*(\d{1,18}(?:[ \t]+\d{1,18})*)[ \t]*(?:#[^\n]*)?\r?\n")
_SKIPPED: Final = rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*"
_LONGEST: Final = 4096  # maximum bytes of a line before the events


@dataclass(frozen=True)
class RepFormat(LineFormat):
    """Lines after an optional header, which may contain the number of operations."""

    def read(self, log: Log) -> Reading:
        """Read the log's events.

        The log must contain at least the header's number of operations.
        """
        log.stream.end_last_line()
        numbers: list[int] = []
        lines: list[int] = []
        line = 1
        while True:
            text = log.stream.peek_line(_LONGEST)
            found = _NUMBERS.fullmatch(text)
            if found:
                numbers += map(int, found[1].split())
                lines += [line] * (len(numbers) - len(lines))
            elif not text or (text.strip() and not text.lstrip().startswith(b"#")):
                break
            log.stream.readline()
            line += 1
        at = _PLACE_OF_OPERATIONS.get(len(numbers))
        if numbers and at is None:
            has = counted(len(numbers), "number")
            reason = f"the header has {has}; use four, three, two or none"
            raise log.wrong(reason, lines[-1])
        said = None if at is None else (numbers[at], lines[at])
        return Reading(self.columns, self._counted(log, line, said))

    def _counted(
        self, log: Log, first_line: int, header: tuple[int, int] | None
    ) -> Iterator[Batch]:
        said, where = header or (None, None)
        operations, interpreter = _Operations(said), self.interpreter(log)
        for rows in self.rows(log, first_line):
            yield interpreter.batch(operations.taken(log, rows))
        if said is not None and operations.count < said:
            log.complain(
                "headers that are wrong",
                f"the header states {said} operations, but the file has {operations.count}",
                where,
            )


class _Operations:
    """Operations as the lab's driver executes them: up to a number, and with null pointers.

    `f -1` frees a null pointer: it counts as an operation but is not an event. Its row is a free of
    size 1.
    """

    _NEVER, _LIVE, _NULL = range(3)

    def __init__(self, said: int | None) -> None:
        self.count = 0
        self._said = said
        self._ids = np.empty(0, np.int64)
        self._states = np.empty(0, np.uint8)

    def taken(self, log: Log, rows: Rows) -> Rows:
        """Return the next lines as events on blocks."""
        op = rows.op.copy()
        (at,) = np.nonzero(op != NO_EVENT)
        if self._said is not None and self.count + len(at) > self._said:
            beyond = at[self._said - self.count :]
            what = "operations beyond the header's number"
            log.leave_out(what, len(beyond), rows.first_line + int(beyond[0]))
            op[beyond] = NO_EVENT
            at = at[: self._said - self.count]
        self.count += len(at)
        null = (op == Op.FREE) & (rows.fields["size"] == 1)
        op[null] = NO_EVENT
        at = at[~null[at]]
        op[at] = self._seen(op[at], rows.fields["key"][at], rows.fields["size"][at])
        return rows._replace(op=op)

    def _seen(
        self, op: NDArray[np.uint8], key: NDArray[np.int64], size: NDArray[np.int64]
    ) -> NDArray[np.uint8]:
        after = np.where(op == Op.FREE, self._NEVER, self._LIVE).astype(np.uint8)
        after[(op == Op.REALLOC) & (size == 0)] = self._NULL
        order = np.argsort(key, kind="stable")
        sorted_key, sorted_after = key[order], after[order]
        first = np.ones(len(key), np.bool_)
        first[1:] = sorted_key[1:] != sorted_key[:-1]
        before = np.empty(len(key), np.uint8)
        before[order] = np.concatenate((sorted_after[:1], sorted_after[:-1]))
        begun = order[first]
        before[begun] = self._known(key[begun])
        self._remember(sorted_key, sorted_after)
        realloc, is_live = op == Op.REALLOC, before == self._LIVE
        return np.select(
            [
                realloc & is_live & (size == 0),
                realloc & ~is_live & (size > 0),
                (realloc & ~is_live) | ((op == Op.FREE) & (before == self._NULL)),
            ],
            [np.uint8(Op.FREE), np.uint8(Op.MALLOC), np.uint8(NO_EVENT)],
            op,
        )

    def _known(self, ids: NDArray[np.int64]) -> NDArray[np.uint8]:
        if not len(self._ids):
            return np.full(len(ids), self._NEVER, np.uint8)
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[at] == ids, self._states[at], np.uint8(self._NEVER))

    def _remember(self, ids: NDArray[np.int64], states: NDArray[np.uint8]) -> None:
        """Store the last state of each id. `ids` are sorted, and equal ids are in line order."""
        all_ids = np.concatenate((ids[::-1], self._ids))
        self._ids, last = np.unique(all_ids, return_index=True)
        self._states = np.concatenate((states[::-1], self._states))[last]


FORMAT: Final = RepFormat(
    name="rep",
    title="CS:APP .rep: a ID SIZE, r ID SIZE, f ID",
    looks=re.compile(
        rb"%(skipped)s(?:(?:%(numbers)s){1,9}[arf][ \t]+-?\d"
        rb"|(?:%(numbers)s){4}\Z"
        rb"|a[ \t]+\d+[ \t]+\d+[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z))"
        % {
            b"skipped": _SKIPPED,
            b"numbers": rb"\d+(?:[ \t]+\d+)*[ \t]*(?:#[^\n]*)?\r?\n" + _SKIPPED,
        }
    ),
    grammar=Grammar(
        {f"{{ }}{line}{{#}}": op for line, op in _EVENTS.items()}
        | {"{ }f -1{size=1}{#}": Op.FREE, "{#}": None}
    ),
)


def write(header: Header, chunks: Iterable[CheckedEvents]) -> Iterator[bytes]:
    """Yield a trace as a .rep file."""
    totals = header.totals
    yield f"{totals.max_live_bytes}\n{totals.objects}\n{totals.events}\n1\n".encode()
    for chunk in chunks:
        yield printed(_PRINTED, chunk.op, key=chunk.object, size=chunk.size)
