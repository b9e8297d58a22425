"""Recordings of the recorder for boards (trace/recorder/board): bytes or hexadecimal lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import OPTIONAL_COLUMNS, Op
from simalloc.trace.formats import board_stream
from simalloc.trace.formats.board_stream import Block, Sync
from simalloc.trace.formats.log import Batch, Log, Reading
from simalloc.trace.formats.stream import HEAD_BYTES
from simalloc.trace.shapes import ReadEvents
from simalloc.trace.symbols import Place

_PIECE: Final = 1 << 18
_MANY_EVENTS: Final = 1 << 16
_TEXT: Final = re.compile(rb"^(?:[^~\n]*~|(?=07a5[4-7]))((?:[0-9a-f]{2})+)[ \t\r]*$", re.MULTILINE)
_SYNC_IN_TEXT: Final = re.compile(rb"07a5[4-7][0-9a-f]")
_NANOSECONDS: Final = 10**9
_TICKS_WRAP: Final = 1 << 32
_LATEST: Final = (1 << 63) - 1

_OPS: Final = {
    board_stream.MALLOC: Op.MALLOC,
    board_stream.CALLOC: Op.CALLOC,
    board_stream.ALIGNED: Op.MALLOC,
    board_stream.REALLOC: Op.REALLOC,
    board_stream.FREE: Op.FREE,
    board_stream.OTHER: Op.THREAD_END,
}


@dataclass(frozen=True)
class _Board:
    """A recording of a board, as bytes or as text."""

    name: str = "board"
    title: str = "simalloc's recorder for boards"

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        return _is_binary(head) or any(
            _SYNC_IN_TEXT.search(line[1]) for line in _TEXT.finditer(head)
        )

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        return Reading(("thread",), _batches(log))


def _is_binary(head: bytes) -> bool:
    start = head[:3]
    return (
        len(start) == 3
        and start.startswith(board_stream.SYNC)
        and start[2] >> 6 == board_stream.VERSION
    )


def recorded_bytes(log: Log) -> Iterator[bytes]:
    """Yield the recorder's bytes, either the log's own bytes or the decoded hexadecimal lines."""
    if not any(
        _SYNC_IN_TEXT.search(line[1]) for line in _TEXT.finditer(log.stream.peek(HEAD_BYTES))
    ):
        while piece := log.stream.read(_PIECE):
            yield piece
        return
    held: list[bytes] = []
    while line := log.stream.readline():
        spelt = _TEXT.match(line.rstrip(b"\n"))
        if spelt is not None:
            held.append(bytes.fromhex(spelt[1].decode()))
        if len(held) > _PIECE >> 5:
            yield b"".join(held)
            held = []
    if held:
        yield b"".join(held)


def _batches(log: Log) -> Iterator[Batch]:
    checked = _Checked(log)
    columns = _Columns(log)
    held: list[Block] = []
    for block in board_stream.blocks(recorded_bytes(log)):
        if isinstance(block, int):
            checked.skipped(block)
            continue
        if not checked.follows(block):
            break
        held.append(block)
        if len(held) * 64 > _MANY_EVENTS:
            yield columns.batch(held)
            held = []
    if held:
        yield columns.batch(held)
    if checked.last is None:
        raise log.wrong(
            "contains no block of a board's recording: a block begins with the bytes 07 a5"
        )


class _Checked:
    """Compares the number of events that each block states with the number of events before it."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._events = 0
        self._skipped = 0
        self.last: Sync | None = None

    def skipped(self, count: int) -> None:
        """Count bytes that belong to no block."""
        self._skipped += count

    def follows(self, block: Block) -> bool:
        """Report missing records before a block.

        Return whether the block belongs to the same run.
        """
        sync, log = block.sync, self._log
        if self.last is None and not sync.begins:
            log.complain(
                "events before the recording",
                f"begins after the board's start: the first {sync.events:,} events are missing",
                count=sync.events,
            )
        elif self.last is not None and sync.begins:
            log.complain(
                "restarts of the board",
                (
                    f"the board restarted after {self._events:,} events, with an empty heap; split "
                    "the log there to import the events after the restart"
                ),
            )
            return False
        elif self.last is not None:
            missing = (sync.events - self._events) % _TICKS_WRAP
            if missing:
                log.complain(
                    "lost events",
                    f"{missing:,} events are missing after event {self._events:,}: the ring buffer "
                    "was full (SIMALLOC_BOARD_RING) or the line lost bytes",
                    count=missing,
                )
        if self._skipped:
            log.leave_out("bytes that are in no block", self._skipped)
            self._skipped = 0
        self.last = sync
        self._events = (sync.events + len(block)) % _TICKS_WRAP
        return True


class _Columns:
    """Converts blocks to events.

    Numbers threads and call sites, and converts ticks to nanoseconds.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._threads: dict[int, int] = {}
        self._thread_count = 0
        self._sites: dict[int, int] = {0: 0}
        self._live = set[int]()
        self._aligned = False
        self._ticks = 0
        self._first_time: int | None = None
        self._last_sync_time = 0

    def batch(self, blocks: list[Block]) -> Batch:
        """Return the events of some blocks."""
        kind = np.array([each for block in blocks for each in block.kind], np.uint8)
        op = np.full(256, 255, np.uint8)
        op[list(_OPS)] = list(_OPS.values())
        columns: dict[str, NDArray[Any]] = {"thread": self._thread_numbers(blocks)}
        alignment = _joined(blocks, "alignment")
        self._aligned = self._aligned or bool(alignment.any())
        if self._aligned:
            columns["alignment"] = alignment
        if blocks[0].sync.has_times:
            columns["time"] = self._times(blocks)
        if blocks[0].sync.has_sites:
            columns["site"] = self._numbered(_joined(blocks, "caller"))
        key, moved = _joined(blocks, "key"), _joined(blocks, "moved")
        kind = self._without_reallocs_in_place(kind, key, moved)
        events = ReadEvents(op[kind], key, _joined(blocks, "size"), moved, columns)
        refused = kind == board_stream.REFUSED
        self._log.leave_out("allocations that failed", int(np.count_nonzero(refused)))
        return Batch(events.taken(~refused), hexadecimal=True)

    def _without_reallocs_in_place(
        self, kind: NDArray[np.uint8], key: NDArray[np.int64], moved: NDArray[np.int64]
    ) -> NDArray[np.uint8]:
        """Return the kinds. A realloc to its own address is a malloc if no object is live there.

        Hooks that cannot distinguish allocations from reallocs in place record both in this way.
        """
        live, kinds = self._live, kind.copy()
        addresses = zip(kind.tolist(), key.tolist(), moved.tolist(), strict=True)
        for at, (what, old, new) in enumerate(addresses):
            if what == board_stream.FREE:
                live.discard(old)
            elif what < board_stream.FREE:
                if what == board_stream.REALLOC and old == new and old not in live:
                    kinds[at] = board_stream.MALLOC
                live.discard(old)
                live.add(new)
        return kinds

    def _times(self, blocks: list[Block]) -> NDArray[np.int64]:
        """Return nanoseconds since the first event. A 32-bit clock may have wrapped around."""
        times: list[int] = []
        for block in blocks:
            sync = block.sync
            if self._first_time is None:
                self._first_time = self._last_sync_time = sync.time
            self._ticks += (sync.time - self._last_sync_time) % _TICKS_WRAP
            self._last_sync_time = sync.time
            start = self._ticks - sync.time
            nanoseconds = ((start + each) * _NANOSECONDS // sync.ticks for each in block.time)
            times += [min(each, _LATEST) for each in nanoseconds]
        return np.maximum.accumulate(np.array(times, np.int64))

    def _thread_numbers(self, blocks: list[Block]) -> NDArray[np.uint32]:
        """Return the threads' numbers.

        After a thread's exit, its handle belongs to a new thread.
        """
        numbers: list[int] = []
        for block in blocks:
            for kind, handle in zip(block.kind, block.thread, strict=True):
                number = self._threads.get(handle)
                if number is None:
                    number = self._threads[handle] = self._thread_count
                    self._thread_count += 1
                if kind == board_stream.OTHER:
                    del self._threads[handle]
                numbers.append(number)
        return np.array(numbers, OPTIONAL_COLUMNS["thread"])

    def _numbered(self, callers: NDArray[np.int64]) -> NDArray[np.uint32]:
        for caller in np.unique(callers).tolist():
            if caller not in self._sites:
                self._sites[caller] = self._log.stacks.add(
                    0, self._log.stacks.place(self._place(caller))
                )
        found = [self._sites[caller] for caller in callers.tolist()]
        return np.array(found, OPTIONAL_COLUMNS["site"])

    def _place(self, caller: int) -> Place | list[tuple[str, str, int]]:
        """Return the place of a call. On Thumb, the lowest bit of a return address is 1."""
        if self._log.elf is None:
            return [(f"{caller:#x}", "", 0)]
        return Place(self._log.elf, (caller & ~1) - 1)


def _joined(blocks: list[Block], name: str) -> NDArray[np.int64]:
    values = [value for block in blocks for value in getattr(block, name)]
    return np.array(values, np.uint64).astype(np.int64)


FORMAT: Final = _Board()
