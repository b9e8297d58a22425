"""The table in MiniMalloc's CSV files: a title that names the columns, and a row per buffer.

The columns may have any order. `id`, `lower`, `upper` and `size` are required; `alignment`, `gaps`
and `offset` are optional. MiniMalloc (src/converter.cc) accepts `buffer` and `buffer_id` for the
id, and `start` and `begin` for the lower time. It also accepts `end`, an upper time that is part of
the lifetime. Without a title, the columns are id, lower, upper, size and optionally offset.

Gaps are separated by blanks. `7-9` means that the buffer is not in use from 7 until just before 9,
and other buffers may use its bytes. `7-9@2:13` means that the buffer uses only its bytes 2 to 12 in
that time, counted from its address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import Op
from simalloc.trace.formats.grammar import NO_EVENT, Grammar
from simalloc.trace.formats.lines import Rows, scan
from simalloc.trace.formats.log import Log

Ints = NDArray[np.int64]

_NAMES: Final = {
    **dict.fromkeys(("id", "buffer", "buffer_id"), "id"),
    **dict.fromkeys(("lower", "start", "begin"), "lower"),
    **dict.fromkeys(("upper", "end"), "upper"),
    **{name: name for name in ("size", "alignment", "gaps", "offset")},
}
_REQUIRED: Final = {"id", "lower", "upper", "size"}
_NUMBERS: Final = ("lower", "upper", "size", "alignment", "offset")
_TEXTS: Final = ("id", "gaps")
_TITLE_BYTES: Final = 1 << 10
_UNTITLED: Final = re.compile(rb"\s*[^\s,]+(?:,\d+){3,4}\s")
_GAP: Final = re.compile(r"(\d{1,18})-(\d{1,18})(?:@(\d{1,18}):(\d{1,18}))?")


class Use(NamedTuple):
    """A time in which a buffer uses its bytes from `low` to before `high`, or none if both are 0.

    The time lasts from `begin` until just before `end`. `row` is the buffer's row, from 0.
    """

    row: int
    begin: int
    end: int
    low: int
    high: int


class LifetimesTable(NamedTuple):
    """The rows of a table (int64) with their lines, lifetimes, sizes and gaps.

    `alignment` and `offset` are None if the table lacks the column. The gaps are ordered by row and
    then by time. The gaps of a row are disjoint.
    """

    line: Ints
    lower: Ints
    upper: Ints
    size: Ints
    alignment: Ints | None
    offset: Ints | None
    gaps: list[Use]

    def uses(self) -> Iterator[Use]:
        """Yield the times and bytes of each buffer's uses, ordered by row and then by time."""
        gaps: dict[int, list[Use]] = {}
        for gap in self.gaps:
            gaps.setdefault(gap.row, []).append(gap)
        columns = (each.tolist() for each in (self.lower, self.upper, self.size))
        for row, (lower, upper, size) in enumerate(zip(*columns, strict=True)):
            done = lower
            for gap in gaps.get(row, ()):
                if done < gap.begin:
                    yield Use(row, done, gap.begin, 0, size)
                if gap.high:
                    yield gap
                done = gap.end
            if done < upper:
                yield Use(row, done, upper, 0, size)


class Title(NamedTuple):
    """The columns in order, with this module's names, and whether upper times are included."""

    columns: tuple[str, ...]
    is_upper_included: bool = False

    @classmethod
    def of(cls, line: bytes) -> Title | None:
        """Return the columns that a line names, or None if it is not a title of such a table."""
        names = line.decode("utf-8", "replace").strip().lower().split(",")
        columns = tuple(_NAMES.get(name, "") for name in names)
        if len({*columns}) != len(columns) or not {*columns} >= _REQUIRED or "" in columns:
            return None
        return cls(columns, "end" in names)

    @property
    def grammar(self) -> Grammar:
        """The grammar of the rows."""
        last = len(self.columns) - 1
        parts = [f"{{{name}}}" if name in _NUMBERS else "{...}" if place == last else "{>,}"
                 for place, name in enumerate(self.columns)]  # fmt: skip
        # The text of a column ends at its comma.
        row = "".join(part if part == "{>,}" or place == last else f"{part},"
                      for place, part in enumerate(parts))  # fmt: skip
        return Grammar({"": None, row: Op.MALLOC})


_DEFAULT: Final = Title(("id", "lower", "upper", "size"))
_PLACED: Final = Title((*_DEFAULT.columns, "offset"))


def is_table(head: bytes) -> bool:
    """Return whether a log that begins with `head` is such a table."""
    first = head.lstrip().partition(b"\n")[0][:_TITLE_BYTES]
    return Title.of(first) is not None or _UNTITLED.match(head) is not None


def read_title(log: Log) -> tuple[Title, int]:
    """Read up to the first row. Return the title and the line number of the first row."""
    line = 1
    while (start := log.stream.peek_line(_TITLE_BYTES)) and not start.strip():
        log.stream.readline()
        line += 1
    title = Title.of(start)
    if title is not None:
        log.stream.readline()
        return title, line + 1
    if not _UNTITLED.match(start):
        raise log.wrong(
            "does not begin with the names of its columns; id, lower, upper and size are required, "
            "alignment, gaps and offset are optional", line)  # fmt: skip
    return (_PLACED if start.count(b",") == len(_DEFAULT.columns) else _DEFAULT), line


def read_table(log: Log, title: Title, first_line: int) -> LifetimesTable:
    """Read the rows under a title. Report each mistake to the log."""
    kept: list[list[Ints]] = [[] for _ in range(6)]
    gaps: list[Use] = []
    count = 0
    for rows in scan(log, title.grammar, first_line):
        zeros = np.zeros(len(rows.op), np.int64)
        lower, upper, size, alignment, offset = (rows.fields.get(name, zeros) for name in _NUMBERS)
        upper = upper + title.is_upper_included
        alive = _alive(log, rows, lower, upper)
        chosen = np.flatnonzero(alive)
        lines = rows.first_line + chosen
        columns = (lines, *(each[chosen] for each in (lower, upper, size, alignment, offset)))
        for column, values in zip(kept, columns, strict=True):
            column.append(values.copy())
        if "gaps" in title.columns:
            texts = _texts(rows, chosen, title.columns.index("gaps"))
            for row, place, text in zip(
                range(count, count + len(chosen)), chosen, texts, strict=True
            ):
                buffer = Use(row, int(lower[place]), int(upper[place]), 0, int(size[place]))
                gaps += _gaps(log, text, rows.first_line + int(place), buffer)
        count += len(chosen)
    line, lower, upper, size, alignment, offset = (
        np.concatenate([np.empty(0, np.int64), *column]) for column in kept
    )
    return LifetimesTable(
        line,
        lower,
        upper,
        size,
        alignment if "alignment" in title.columns else None,
        offset if "offset" in title.columns else None,
        gaps,
    )


def _alive(log: Log, rows: Rows, lower: Ints, upper: Ints) -> NDArray[np.bool_]:
    """Return a mask of the rows that are buffers. Report rows that end before they begin."""
    object_ = rows.op != NO_EVENT
    empty = object_ & (lower >= upper)
    if empty.any():
        line = rows.first_line + int(np.argmax(empty))
        text = "the object ends before it begins: lower must be less than upper"
        log.complain("lifetimes of nothing", text, line, int(np.count_nonzero(empty)))
    alive: NDArray[np.bool_] = object_ & ~empty
    return alive


def _texts(rows: Rows, chosen: NDArray[np.intp], place: int) -> Iterator[str]:
    """Yield the text of a column of some of the rows."""
    for line in rows.lines(chosen.tolist()):
        yield line.split(",")[place]


def _gaps(log: Log, text: str, line: int, buffer: Use) -> Iterator[Use]:
    """Yield the gaps of a buffer within its lifetime.

    `buffer` contains its row, times and bytes.
    """
    found = []
    for word in text.split():
        match = _GAP.fullmatch(word)
        begin, end, low, high = (int(each or 0) for each in match.groups()) if match else (0,) * 4
        if match is None or begin >= end or high > buffer.high or (match[4] and low >= high):
            reason = (
                f"{word!r} is not a gap; write BEGIN-END or BEGIN-END@LOW:HIGH, with BEGIN less "
                "than END, LOW less than HIGH, and HIGH at most the size"
            )
            log.complain("gaps that are not valid", reason, line)
        elif begin < buffer.end and end > buffer.begin:
            found.append(Use(buffer.row, max(begin, buffer.begin), min(end, buffer.end), low, high))
    found.sort(key=lambda gap: gap.begin)
    if any(one.end > other.begin for one, other in pairwise(found)):
        log.complain("gaps that are not valid", "gaps of the buffer overlap", line)
        return
    if sum(gap.end - gap.begin for gap in found) == buffer.end - buffer.begin:
        reason = "the gaps leave no time at which the whole buffer is in use"
        log.complain("gaps that are not valid", reason, line)
        return
    yield from found
