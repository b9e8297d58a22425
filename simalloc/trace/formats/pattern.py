"""Logs in a user-defined format: a regular expression for each kind of line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from hashlib import blake2b
from typing import Final

import numpy as np

from simalloc.errors import TraceError
from simalloc.trace.events import MAX_SIZE, OPTIONAL_COLUMNS, Op
from simalloc.trace.formats.log import Batch, Log, Reading
from simalloc.trace.formats.numbering import Numbering
from simalloc.trace.shapes import ReadEvents

NAME: Final = "pattern"

_KINDS: Final = {
    "ignore": None,
    "realloc": Op.REALLOC,
    "free": Op.FREE,
    "malloc": Op.MALLOC,
    "end": Op.THREAD_END,
}
"""Kinds in the order in which they are tried. A pattern for malloc often matches the line of a
realloc.
"""

_GROUPS: Final = {"malloc": "size", "free": "id", "realloc": "size", "end": "thread"}
"""The group that each pattern must contain; `hexsize` may replace `size`."""
_TIMES: Final = {"time": 9, "time_ms": 6, "time_us": 3, "time_ns": 0}
"""The groups that contain a time, and the power of ten that converts it to nanoseconds."""
_ANYWHERE: Final = ("thread", "stream", *_TIMES)
_KNOWN: Final = {
    "malloc": ("size", "hexsize", "count", "id", "alignment", *_ANYWHERE),
    "free": ("id", *_ANYWHERE),
    "realloc": ("size", "hexsize", "count", "id", "old", *_ANYWHERE),
    "end": _ANYWHERE,
}
"""All groups that a pattern may contain. A pattern of ignored lines may contain any group."""
_COLUMNS: Final = ("alignment", "thread", "time", "stream")
_THOUSANDS: Final = re.compile(r"\d{1,3}(,\d{3})+")

_NULL: Final = re.compile(r"0x0+|\s*\(?(?:nil|null|none)\)?|nullptr|", re.IGNORECASE)
_HALF: Final = 1 << 63  # half the number of values of a 64-bit word
_EVENTS: Final = 1 << 16  # events per batch


@dataclass(frozen=True)
class PatternFormat:
    """Reads each line with the first pattern that matches anywhere in the line.

    `patterns` contains regular expressions for `malloc` and `free`, and optionally for `realloc`,
    `ignore` and `end` (thread exit). Group `size` is the requested bytes, in decimal or in
    hexadecimal with 0x. `hexsize` is the requested bytes in hexadecimal, and `count` is an optional
    factor. `id` is the block's address, number or name, and `old` is the argument of a realloc if
    it differs. Without `id`, mallocs are numbered from 0. `thread` and `stream` are numbers or
    names. `alignment` is in bytes, and `time` is in seconds; `time_ms`, `time_us` and `time_ns`
    have other units. Raises `TraceError` for an invalid pattern, or for a group with another name.
    """

    patterns: Mapping[str, str]
    name: str = NAME
    title: str = "patterns"

    def __post_init__(self) -> None:
        if unknown := set(self.patterns) - set(_KINDS):
            raise TraceError(
                f"unknown kind of line {min(unknown)!r}; choose one of {', '.join(_KINDS)}"
            )
        for kind in ("malloc", "free"):
            if kind not in self.patterns:
                raise TraceError(f"a pattern for {kind} is missing")
        for kind in self.patterns:
            self._compiled(kind)

    def sniff(self, head: bytes) -> bool:  # noqa: ARG002 - content does not identify the format
        """Return False, because such a log is never recognised by its content."""
        return False

    def read(self, log: Log) -> Reading:
        """Read the log's events.

        The tool of a log with ids may have been attached to a running program. Without ids, a free
        of a number that has not been allocated yet is a mistake.
        """
        log.may_begin_late = "id" in self._compiled("malloc").groupindex
        return Reading(self._columns, self._batches(log))

    @property
    def _columns(self) -> tuple[str, ...]:
        """The optional columns that the patterns' groups set."""
        groups = {
            "time" if group in _TIMES else group
            for kind in self.patterns
            if kind != "ignore"
            for group in self._compiled(kind).groupindex
        }
        return tuple(name for name in _COLUMNS if name in groups)

    def _batches(self, log: Log) -> Iterator[Batch]:
        reader = _Reader(
            log,
            [(_KINDS[k], self._compiled(k)) for k in _KINDS if k in self.patterns],
            columns=self._columns,
        )
        first, number = 1, 0
        while line := log.stream.readline():
            number += 1
            reader.take(line, number)
            if number - first + 1 == _EVENTS:
                yield reader.batch(first)
                first = number + 1
        yield reader.batch(first)

    def _compiled(self, kind: str) -> re.Pattern[str]:
        try:
            with warnings.catch_warnings(action="ignore", category=FutureWarning):
                compiled = re.compile(self.patterns[kind])
        except (re.error, OverflowError, RecursionError) as error:
            raise TraceError(
                f"the pattern for {kind} is not a regular expression: {error}"
            ) from error
        group, given = _GROUPS.get(kind), set(compiled.groupindex)
        if group is not None and not {group, f"hex{group}"} & given:
            raise TraceError(f"the pattern for {kind} lacks its group: (?P<{group}>...)")
        if kind == "realloc" and not {"id", "old"} & given:
            raise TraceError("the pattern for realloc lacks a group: (?P<id>...) or (?P<old>...)")
        unknown = sorted(given - {*_KNOWN.get(kind, given)})
        if unknown:
            raise TraceError(
                f"the pattern for {kind} has an unknown group {unknown[0]!r}; choose among "
                f"{', '.join(_KNOWN[kind])}"
            )
        return compiled


class _Reader:
    """Converts lines to events, one line after the other."""

    def __init__(
        self,
        log: Log,
        patterns: list[tuple[Op | None, re.Pattern[str]]],
        *,
        columns: tuple[str, ...],
    ) -> None:
        self._log = log
        self._patterns = patterns
        self._columns = columns
        self._mallocs = 0
        self._numbers = {"thread": Numbering(), "stream": Numbering()}
        self._begun: int | None = None
        self._now = 0
        # op, key, size, new key, line, and the columns in their order
        self._events: list[tuple[int, ...]] = []

    def take(self, line: bytes, number: int) -> None:
        """Convert the next line."""
        text = line.decode("utf-8", "backslashreplace").rstrip("\r\n")
        for op, pattern in self._patterns:
            if found := pattern.search(text):
                if op is not None:
                    self._take(op, found.groupdict(), number)
                return
        if text.strip():
            reason = (
                f"no pattern matches {text[:60]!r}. If such lines are not events, give a "
                "pattern for them to --ignore"
            )
            self._log.complain("lines that no pattern matches", reason, number)

    def batch(self, first_line: int) -> Batch:
        """Return the events since the last call; `first_line` is the first line since then."""
        width = 5 + len(self._columns)
        rows = np.array(self._events, np.int64).reshape(-1, width)
        op, key, size, new_key, line, *optional = rows.T.copy()
        self._events = []
        columns = {}
        for name, values in zip(self._columns, optional, strict=True):
            numbers = self._numbers[name](values) if name in self._numbers else values
            columns[name] = numbers.astype(OPTIONAL_COLUMNS[name])
        events = ReadEvents(op.astype(np.uint8), key, size, new_key, columns)
        return Batch(events, first_line, line - first_line)

    def _add(
        self, op: Op, key: int, size: int, new_key: int, line: int, optional: list[int]
    ) -> None:
        self._events.append((int(op), key, size, new_key, line, *optional))

    def _optional_values(self, groups: dict[str, str | None], line: int) -> list[int]:
        """Return the value of each column in a line."""
        optional = []
        for name in self._columns:
            if name == "time":
                optional.append(self._time(groups, line))
            elif name == "alignment":
                text = groups.get("alignment") or "0"
                optional.append(min(self._number(text, line, 10, "alignment") or 0, MAX_SIZE))
            else:
                optional.append(_key(groups.get(name) or ""))
        return optional

    def _time(self, groups: dict[str, str | None], line: int) -> int:
        """Return the nanoseconds since the first time. A line without a time gets the last time.

        Times never decrease.
        """
        for group, power in _TIMES.items():
            if text := groups.get(group):
                try:
                    now = int(Decimal(text.replace(",", "")).scaleb(power))
                except (ArithmeticError, ValueError):
                    reason = f"the time {text[:40]!r} is not a number"
                    self._log.complain("times that are no numbers", reason, line)
                    continue
                self._begun = now if self._begun is None else self._begun
                self._now = max(self._now, min(now - self._begun, _HALF - 1))
        return self._now

    def _take(self, op: Op, groups: dict[str, str | None], line: int) -> None:
        optional = self._optional_values(groups, line)
        if op is Op.THREAD_END:
            self._add(op, 0, 0, 0, line, optional)
            return
        given = groups.get("id")
        if op is Op.MALLOC:
            given = str(self._mallocs) if given is None else given
            self._mallocs += 1
        new = given if given is not None else groups.get("old")
        old = groups.get("old") or new
        size = 0 if op is Op.FREE else self._request(groups, line)
        if op is Op.REALLOC and old is not None and _NULL.fullmatch(old):
            op, old = Op.MALLOC, new
        if size is None or new is None or old is None:
            return
        if _NULL.fullmatch(new):
            if op is Op.REALLOC and size == 0:
                self._add(Op.FREE, _key(old), 0, 0, line, optional)
            elif op is not Op.FREE:
                self._log.leave_out("allocations that failed", 1, line)
            return
        self._add(op, _key(old), size, _key(new), line, optional)

    def _request(self, groups: dict[str, str | None], line: int) -> int | None:
        """Return the bytes that a line requests, or None after reporting an unknown request."""
        base = 16 if groups.get("hexsize") else 10
        size = self._number(groups.get("hexsize") or groups.get("size") or "", line, base)
        count = self._number(groups.get("count") or "1", line, 10)
        return None if size is None or count is None else min(count * size, 2**63 - 1)

    def _number(self, text: str, line: int, base: int, what: str = "size") -> int | None:
        try:
            return _value(text, base)
        except ValueError:
            hint = ""
            if re.fullmatch("[0-9a-fA-F]+", text):
                hint = "; hexadecimal without 0x requires the group (?P<hexsize>...)"
            reason = f"the {what} {text[:40]!r} is not a number{hint}"
            self._log.complain(f"{what}s that are no numbers", reason, line)
            return None


def _value(text: str, base: int = 10) -> int:
    """Return a number. With 0x, the number is hexadecimal. Commas may separate thousands."""
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    return int(text, 16 if text[:2].lower() == "0x" else base)


def _key(text: str) -> int:
    """Return an object's number or address as a number, or a digest of its name."""
    try:
        value = _value(text)
    except ValueError:
        value = int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
    return (value + _HALF) % (2 * _HALF) - _HALF
