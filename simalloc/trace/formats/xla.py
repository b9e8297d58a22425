"""XLA's dump of a compiled program: `*-buffer-assignment.txt` with its `*-live-range.txt`.

`XLA_FLAGS="--xla_dump_to=FOLDER --xla_dump_hlo_as_text"` writes both files. The first contains the
size and the place of each value, and the second contains its first and last step. The second file
must be beside the first with the same name, or follow the first in one file.

Values that have the same place and are live at the same step share their memory and are one buffer.
Examples are an output that replaces its input, and the state of a loop.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from simalloc.errors import TraceError
from simalloc.trace.formats.lifetimes import Row, batches_of
from simalloc.trace.formats.log import Batch, Log, Reading
from simalloc.trace.formats.stream import LogStream

_SUFFIX: Final = "-buffer-assignment.txt"
_RANGES_SUFFIX: Final = "-live-range.txt"
_ALLOCATION: Final = re.compile(rb"allocation (\d{1,18}): size ")
_VALUE: Final = re.compile(
    rb"\s+value: <\d+ (.+?)(?: @\d+)?> \(size=(\d{1,18}),\s?offset=(\d{1,18})\)"
)
_RANGE: Final = re.compile(rb"\s+(\S+):(\d{1,18})-(\d{1,18})\s*")
_HEAD: Final = re.compile(rb"\s*BufferAssignment:\r?\n|\s*allocation \d+: size \d+")
_RANGES_BEGIN: Final = b"BufferLiveRange:"


class _Value(NamedTuple):
    """A value: its line, its allocation, its offset there, and its size."""

    line: int
    place: tuple[int, int]
    size: int


class _Assignment:
    """The dump's two files."""

    name = "xla"
    title = "XLA's buffer assignment with its live ranges"

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        return _HEAD.match(head) is not None

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        return Reading((), _batches(log))


FORMAT: Final = _Assignment()


def _batches(log: Log) -> Iterator[Batch]:
    values, ranges = _read(log)
    if not ranges:
        ranges = _beside(log)
    known = {name: value for name, value in values.items() if name in ranges}
    if values and not known:
        raise log.wrong("has no value with a live range; give two files of the same program")
    log.leave_out("values without a live range (constants, values of called code)",
                  len(values) - len(known))  # fmt: skip
    return batches_of(_merged(known, ranges))


def _read(log: Log) -> tuple[dict[bytes, _Value], dict[bytes, tuple[int, int]]]:
    """Return the values of a file, and its live ranges if it contains them."""
    values: dict[bytes, _Value] = {}
    number = allocation = 0
    while line := log.stream.readline():
        number += 1
        if line.strip() == _RANGES_BEGIN:
            return values, _ranges(log, log.stream, number)
        if found := _ALLOCATION.match(line):
            allocation = int(found[1])
        elif found := _VALUE.match(line):
            name = found[1] if found[1].endswith(b"}") else found[1] + b"{}"
            values[name] = _Value(number, (allocation, int(found[3])), int(found[2]))
        elif line.lstrip().startswith(b"value: <") and b"(size=" in line:
            text = "the line does not have XLA's form of a value, value: <0 NAME> (size=S,offset=O)"
            log.complain("lines that are not of the format", text, number)
    return values, {}


def _beside(log: Log) -> dict[bytes, tuple[int, int]]:
    """Return the live ranges in the file beside the log."""
    name = log.stream.name
    place = name.rfind(_SUFFIX)
    if place < 0:
        raise log.wrong(
            "has no live ranges. Give a file that ends with them, or keep XLA's names: "
            f"*{_SUFFIX} with *{_RANGES_SUFFIX} beside it"
        )
    ending = name[place + len(_SUFFIX) :]
    path = Path(name[:place] + _RANGES_SUFFIX + ending)
    if not path.is_file():
        raise log.wrong(f"needs the live ranges that XLA writes beside it: {path.name} is missing")
    with path.open("rb") as raw:
        stream = LogStream(raw, str(path), lenient=log.lenient)
        number = 0
        while line := stream.readline():
            number += 1
            if line.strip() == _RANGES_BEGIN:
                return _ranges(log, stream, number)
    raise TraceError(f"has no line `{_RANGES_BEGIN.decode()}`", path=str(path))


def _ranges(log: Log, stream: LogStream, number: int) -> dict[bytes, tuple[int, int]]:
    """Return the first and last step of each value. A line without steps ends the list."""
    ranges: dict[bytes, tuple[int, int]] = {}
    while line := stream.readline():
        number += 1
        found = _RANGE.fullmatch(line)
        if found is None:
            break
        first, last = int(found[2]), int(found[3])
        if last < first:
            text = f"in {Path(stream.name).name}: the live range ends before it begins"
            log.complain("lifetimes of nothing", text, number)
            continue
        name = found[1] if found[1].endswith(b"}") else found[1] + b"{}"
        ranges[name] = (first, last)
    return ranges


def _merged(values: dict[bytes, _Value], ranges: dict[bytes, tuple[int, int]]) -> list[Row]:
    """Return the buffers. Values at one place with overlapping live ranges form one buffer."""
    places: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for name, value in sorted(values.items(), key=lambda each: ranges[each[0]]):
        first, last = ranges[name]
        rows = places[value.place]
        new = Row(value.line, first, last + 1, value.size)
        if rows and first < rows[-1].upper:
            held = rows[-1]
            upper, size = max(held.upper, new.upper), max(held.size, new.size)
            rows[-1] = held._replace(upper=upper, size=size)
        else:
            rows.append(new)
    return sorted(row for rows in places.values() for row in rows)
