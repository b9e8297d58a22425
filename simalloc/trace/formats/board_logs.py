"""Logs of the tools of ESP-IDF, Zephyr and NuttX, mixed with any other output.

Lines without an event are skipped, because a board prints all its messages to the same port.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from simalloc.trace.events import MAX_SIZE, OPTIONAL_COLUMNS, Op
from simalloc.trace.formats.log import Batch, Log, Reading
from simalloc.trace.shapes import ReadEvents
from simalloc.trace.stacks import Frame
from simalloc.trace.symbols import Place

_BATCH: Final = 1 << 15
_NANOSECONDS: Final = 10**9
_KEY: Final = r"(?P<key>0x[0-9a-fA-F]{1,16})"
_SIZE: Final = r"(?P<size>[0-9]{1,18})"
_TIME: Final = r"(?P<seconds>[0-9]{1,9})\.(?P<decimals>[0-9]{1,9})"


class _Event(NamedTuple):
    """An event and its line number."""

    line: int
    op: Op
    key: int
    size: int = 0
    time: int = 0
    thread: int = 0
    site: int = 0


def _lines(log: Log) -> Iterator[tuple[int, str]]:
    """Yield the lines of a log with their numbers."""
    number = 0
    while line := log.stream.readline():
        number += 1
        yield number, line.decode("utf-8", "replace").rstrip("\r\n")


def _batches(events: Iterable[_Event], columns: tuple[str, ...]) -> Iterator[Batch]:
    """Yield the events in batches, with optional columns."""
    held: list[_Event] = []
    for event in events:
        held.append(event)
        if len(held) == _BATCH:
            yield _batch(held, columns)
            held = []
    if held:
        yield _batch(held, columns)


def _batch(events: list[_Event], columns: tuple[str, ...]) -> Batch:
    optional: dict[str, Any] = {
        name: np.array([getattr(event, name) for event in events], OPTIONAL_COLUMNS[name])
        for name in columns
    }
    read = ReadEvents(
        np.array([event.op for event in events], np.uint8),
        np.array([event.key for event in events], np.int64),
        np.array([event.size for event in events], np.int64),
        None,
        optional,
    )
    first = events[0].line
    rows = np.array([event.line - first for event in events], np.int64)
    return Batch(read, first, rows, hexadecimal=True)


def _address(text: str) -> int:
    """Return an address as an int64. Equal addresses have equal results."""
    return int.from_bytes((int(text, 16) & (2**64 - 1)).to_bytes(8, "big"), "big", signed=True)


def _size(text: str) -> int:
    return min(int(text), MAX_SIZE + 1)


class _Threads:
    """Numbers tasks by name in the order of their first events."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __getitem__(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))


@dataclass(frozen=True)
class _SysView:
    """Output of ESP-IDF's sysviewtrace_proc.py for a SystemView trace: events with call stacks."""

    name: str = "esp-sysview"
    title: str = "ESP-IDF sysviewtrace_proc.py"

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        return any(map(_SYSVIEW.match, head.decode("utf-8", "replace").splitlines()))

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        log.may_begin_late = True  # the trace is started on a running board
        columns = ("thread", "time", "site")
        return Reading(columns, _batches(_sysview_events(log), columns))


_SYSVIEW: Final = re.compile(
    rf"\[{_TIME}\] HEAP: (?:Allocated {_SIZE} bytes|Freed bytes) @ {_KEY} from (?P<task>.*) by:$"
)
_SOURCE_LINE: Final = re.compile(
    r"(?P<file>.+):(?P<line>[0-9]{1,9})(?: \(discriminator [0-9]+\))?$"
)
_REPORT: Final = re.compile(r"=+ HEAP TRACE REPORT =+")


def _sysview_events(log: Log) -> Iterator[_Event]:
    """Yield the events. The report at the end repeats leaked blocks and is skipped."""
    threads = _Threads()
    found: re.Match[str] | None = None
    at, frames = 0, list[Frame]()
    for number, line in _lines(log):
        place = _SOURCE_LINE.match(line)
        if found is not None and place is not None:
            frames.append(("", place["file"], int(place["line"])))
            continue
        if found is not None:
            yield _sysview_event(log, found, at, frames, threads)
        found, at, frames = _SYSVIEW.match(line), number, []
        if _REPORT.match(line):
            return
    if found is not None:
        yield _sysview_event(log, found, at, frames, threads)


def _sysview_event(
    log: Log, found: re.Match[str], line: int, frames: list[Frame], threads: _Threads
) -> _Event:
    time = int(found["seconds"]) * _NANOSECONDS + int(found["decimals"].ljust(9, "0"))
    allocated = found["size"] is not None
    return _Event(
        line,
        Op.MALLOC if allocated else Op.FREE,
        _address(found["key"]),
        _size(found["size"]) if allocated else 0,
        time,
        threads[found["task"]],
        log.stacks.path(frames),
    )


@dataclass(frozen=True)
class _EspHeapTrace:
    """Output of ESP-IDF's heap_trace_dump(): blocks, each with the call path of its allocation."""

    name: str = "esp-heap-trace"
    title: str = "ESP-IDF heap_trace_dump"

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        return any(map(_RECORD.search, head.decode("utf-8", "replace").splitlines()))

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        columns = ("site",)
        return Reading(columns, _batches(_heap_trace_events(log), columns))


_RECORD: Final = re.compile(
    rf"{_SIZE} bytes \(@ {_KEY}[^)]*\) allocated CPU [0-9]+ ccount 0x[0-9a-f]+"
    r"(?: caller (?P<callers>0x[0-9a-f]{1,16}(?::0x[0-9a-f]{1,16})*))?(?P<freed> freed\b)?"
)
_FREED: Final = re.compile(r"^\s*freed by ")
_NAMED: Final = re.compile(
    r"(?P<address>0x[0-9a-fA-F]{1,16}): (?P<function>\S+) at (?P<file>.+):(?P<line>[0-9]{1,9})"
)


@dataclass
class _Record:
    line: int
    key: int
    size: int
    callers: tuple[int, ...]
    freed: bool


def _heap_trace_events(log: Log) -> Iterator[_Event]:
    """Yield an allocation for each record, and a free for each freed block.

    A dump does not contain the time of a free. Each free is assumed to be as late as possible:
    before the next allocation that overlaps the block, or at the end.
    """
    records, names = _records(log)
    ends: dict[int, list[_Record]] = {}
    live: list[_Record] = []
    for number, record in enumerate(records):
        for other in [each for each in live if _overlap(each, record)]:
            live.remove(other)
            if other.freed:
                ends.setdefault(number, []).append(other)
        live.append(record)
    count = sum(record.freed for record in records)
    if count:
        log.provenance["frees_placed"] = (
            f"{count:,} frees: before the next overlapping allocation, or at the end"
        )
    for number, record in enumerate(records):
        yield from (_Event(each.line, Op.FREE, each.key) for each in ends.get(number, ()))
        site = log.stacks.path([_frame(log, each, names) for each in record.callers])
        yield _Event(record.line, Op.MALLOC, record.key, record.size, site=site)
    yield from (_Event(each.line, Op.FREE, each.key) for each in live if each.freed)


def _records(log: Log) -> tuple[list[_Record], dict[int, Frame]]:
    """Return the records in order, and the code names that the serial monitor has added."""
    records: list[_Record] = []
    names: dict[int, Frame] = {}
    for number, line in _lines(log):
        found = _RECORD.search(line)
        if found is not None:
            callers = tuple(int(each, 16) for each in (found["callers"] or "").split(":") if each)
            record = _Record(
                number,
                _address(found["key"]),
                _size(found["size"]),
                callers,
                found["freed"] is not None,
            )
            records.append(record)
        elif records and _FREED.match(line):
            records[-1].freed = True
        for named in _NAMED.finditer(line):
            frame = named["function"], named["file"], int(named["line"])
            names[int(named["address"], 16)] = frame
    return records, names


def _overlap(one: _Record, other: _Record) -> bool:
    return one.key < other.key + max(other.size, 1) and other.key < one.key + max(one.size, 1)


def _frame(log: Log, caller: int, names: dict[int, Frame]) -> Frame:
    if caller in names:
        return names[caller]
    if log.elf is not None:
        from simalloc.trace.symbols import name_places  # noqa: PLC0415 - starts a program

        names[caller] = name_places([Place(log.elf, caller - 3)])[0][0]
        return names[caller]
    return (f"{caller:#x}", "", 0)


@dataclass(frozen=True)
class _MessageLog:
    """A log with one message per event: the patterns of an allocation and of a free."""

    name: str
    title: str
    allocated: re.Pattern[str]
    freed: re.Pattern[str]
    columns: tuple[str, ...] = ()

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        return any(map(self.allocated.search, head.decode("utf-8", "replace").splitlines()))

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        log.may_begin_late = True  # the program itself registers the listener
        return Reading(self.columns, _batches(self._events(log), self.columns))

    def _events(self, log: Log) -> Iterator[_Event]:
        threads = _Threads()
        for number, line in _lines(log):
            allocated = self.allocated.search(line)
            found = allocated or self.freed.search(line)
            if found is None:
                continue
            groups = found.groupdict()
            time = thread = 0
            if "seconds" in groups:
                time = int(groups["seconds"]) * _NANOSECONDS + int(groups["decimals"].ljust(9, "0"))
                thread = threads[groups["task"]]
            if allocated:
                key, size = _address(found["key"]), _size(found["size"])
                yield _Event(number, Op.MALLOC, key, size, time, thread)
            else:
                yield _Event(number, Op.FREE, _address(found["key"]), 0, time, thread)


_NOTE: Final = (
    rf"^(?P<task>.*-[0-9]+) +\[[0-9]+\] +{_TIME}: tracing_mark_write: C\|[0-9]+\|Heap Usage\|[0-9]+"
)
_NOTED: Final = rf": heap: \S+ size: ?{_SIZE}, address: {_KEY}"

FORMATS: Final = (
    _SysView(),
    _EspHeapTrace(),
    _MessageLog(
        "zephyr-heap",
        "Zephyr heap listener",
        re.compile(rf"Memory allocated at {_KEY}, size {_SIZE}"),
        re.compile(rf"Memory freed at {_KEY}, size [0-9]+"),
    ),
    _MessageLog(
        "nuttx-note",
        "NuttX heap notes",
        re.compile(rf"{_NOTE}\|malloc{_NOTED}"),
        re.compile(rf"{_NOTE}\|free{_NOTED}"),
        ("thread", "time"),
    ),
)
"""The formats of the logs of boards' own tools."""
