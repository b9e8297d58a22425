"""The byte stream of the recorder for boards (trace/recorder/board), block by block.

A block consists of a synchronisation record and the records of the events after it. The next
synchronisation record contains the block's checksum and the number of events so far. A block is
accepted only if both are correct. docs/boards.md describes the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from simalloc.trace.events import MAX_SIZE

MALLOC, CALLOC, ALIGNED, REALLOC, FREE, REFUSED, OTHER = range(1, 8)
"""The kinds of records: the lowest three bits of their first byte."""

THREAD_END: Final = OTHER | 1 << 4
SYNC: Final = bytes([OTHER, 0xA5])
VERSION: Final = 1

_NEW_THREAD: Final = 1 << 3
_SHIFT, _WITH_TIMES, _WITH_SITES, _BEGINS = 7, 1 << 3, 1 << 4, 1 << 5
_LONGEST_NUMBER: Final = 10
_LONGEST_BLOCK: Final = 1 << 20
_WORD: Final = (1 << 64) - 1
_WRAP: Final = (1 << 32) - 1
_LARGEST: Final = (1 << 63) - 1


class Sync(NamedTuple):
    """A synchronisation record: its start, its end, and its contents."""

    start: int
    end: int
    flags: int
    checksum: tuple[int, int]
    events: int
    ticks: int
    time: int

    @property
    def begins(self) -> bool:
        """True if the board's recording begins here."""
        return bool(self.flags & _BEGINS)

    @property
    def has_times(self) -> bool:
        """True if each event has a time."""
        return bool(self.flags & _WITH_TIMES)

    @property
    def has_sites(self) -> bool:
        """True if each event has a return address."""
        return bool(self.flags & _WITH_SITES)


@dataclass
class Block:
    """The events of one block, one list per column, and the synchronisation record before them.

    `key` is the first address in a record, and `moved` is the new address of a realloc. `complete`
    is true if the block's checksum was present and correct.
    """

    sync: Sync
    kind: list[int] = field(default_factory=list)
    key: list[int] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    alignment: list[int] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    time: list[int] = field(default_factory=list)
    caller: list[int] = field(default_factory=list)
    complete: bool = False

    def __len__(self) -> int:
        return len(self.kind)


class _DamagedError(Exception):
    """Error: the bytes are not a block."""


class _CutError(Exception):
    """Error: the bytes end within a record. `block` contains the whole records up to `end`."""

    def __init__(self, block: Block | None = None, end: int = 0) -> None:
        super().__init__()
        self.block = block
        self.end = end


def blocks(pieces: Iterator[bytes]) -> Iterator[Block | int]:
    """Yield the blocks of a stream and, between blocks, the number of bytes outside blocks.

    The last block may lack its checksum. A block with a wrong checksum or number of events is
    skipped, and its bytes are counted.
    """
    held, skipped = bytearray(), 0
    for piece in chain(pieces, [b""]):
        held += piece
        at = 0
        while (step := _step(held, at, ended=not piece))[1] > at:
            block, end = step
            if block is None:
                skipped += end - at
            else:
                if skipped:
                    yield skipped
                skipped = 0
                yield block
            at = end
        del held[:at]
    if skipped:
        yield skipped


def _step(held: bytearray, at: int, *, ended: bool) -> tuple[Block | None, int]:
    """Return the block at `at` and its end, or None and the place where to continue.

    The place is `at` if more bytes are needed.
    """
    found = held.find(SYNC, at)
    if found != at:
        nowhere = len(held) if ended else max(at, len(held) - len(SYNC) + 1)
        return None, nowhere if found < 0 else found
    try:
        return _block(held, at)
    except _DamagedError:
        return None, at + 1
    except _CutError as cut:
        if ended:
            return cut.block, cut.end if cut.block else len(held)
        return None, at + (len(held) - at > _LONGEST_BLOCK)


def _number(data: bytearray, at: int) -> tuple[int, int]:
    """Return the number that begins at `at`, and its end."""
    number = shift = 0
    for end in range(at, min(at + _LONGEST_NUMBER, len(data))):
        byte = data[end]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & _WORD, end + 1
        shift += 7
    raise _DamagedError if at + _LONGEST_NUMBER <= len(data) else _CutError


def _moved(base: int, folded: int) -> int:
    return (base - (folded >> 1) - 1 if folded & 1 else base + (folded >> 1)) & _WORD


def _sync(data: bytearray, at: int) -> Sync:
    if at + 5 > len(data):
        raise _CutError
    flags = data[at + 2]
    if not data.startswith(SYNC, at) or flags >> 6 != VERSION:
        raise _DamagedError
    events, end = _number(data, at + 5)
    ticks = time = 0
    if flags & _WITH_TIMES:
        ticks, end = _number(data, end)
        time, end = _number(data, end)
        if not ticks:
            raise _DamagedError
    return Sync(at, end, flags, (data[at + 3], data[at + 4]), events, ticks, time)


def _block(data: bytearray, start: int) -> tuple[Block, int]:
    """Return the block that begins at `start`, and the start of the next block.

    Raises `_DamagedError` if the bytes are not a block. Raises `_CutError`, with the whole records,
    if the bytes end before the block.
    """
    sync = _sync(data, start)
    block, at = Block(sync), sync.end
    reader = _Records(block)
    try:
        while at < len(data) and data[at] != OTHER:
            at = reader.read(data, at)
        following = _sync(data, at)
    except _CutError:
        raise _CutError(block, at) from None
    agrees = following.checksum == checksum(bytes(memoryview(data)[start:at]))
    counted = (following.events - sync.events) & _WRAP
    if not following.begins and (not agrees or counted < len(block)):
        raise _DamagedError
    block.complete = not following.begins
    return block, at


def checksum(block: bytes) -> tuple[int, int]:
    """Return the sum of the bytes, and the sum of these running sums, both modulo 256."""
    data = np.frombuffer(block, np.uint8).astype(np.int64)
    return int(data.sum()) & 255, int((data * np.arange(len(data), 0, -1)).sum()) & 255


class _Records:
    """Reads the records of one block."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._shift = block.sync.flags & _SHIFT
        self._has_times = block.sync.has_times
        self._has_sites = block.sync.has_sites
        self._address = self._thread = self._caller = 0
        self._time = block.sync.time

    def read(self, data: bytearray, at: int) -> int:
        """Read one record and return its end."""
        tag = data[at]
        if tag == THREAD_END:
            thread, at = _number(data, at + 1)
            self._add(OTHER, 0, 0, 0, 0, thread, self._time, 0)
            return at
        kind, at = tag & 7, at + 1
        if kind in {0, OTHER}:
            raise _DamagedError
        thread, time = self._thread, self._time
        if tag & _NEW_THREAD:
            thread, at = _number(data, at)
        if self._has_times:
            ticks, at = _number(data, at)
            time += ticks & _WRAP
        first, address, at = self._addresses(data, at, kind)
        size = alignment = 0
        if kind == ALIGNED:
            alignment, at = _number(data, at)
            if alignment > MAX_SIZE:
                raise _DamagedError
        if kind != FREE:
            size, at = _number(data, at)
            size = min(size << 4 | tag >> 4, _LARGEST)
        if self._has_sites:
            folded, at = _number(data, at)
            self._caller = _moved(self._caller, folded)
        self._thread, self._time, self._address = thread, time, address
        self._add(kind, first, address, size, alignment, thread, time, self._caller)
        return at

    def _addresses(self, data: bytearray, at: int, kind: int) -> tuple[int, int, int]:
        """Return the first address of a record, its last address, and their end."""
        if kind == REFUSED:
            return self._address, self._address, at
        folded, at = _number(data, at)
        first = last = _moved(self._address, folded)
        if kind == REALLOC:
            folded, at = _number(data, at)
            last = _moved(first, folded)
        return first, last, at

    def _add(
        self,
        kind: int,
        key: int,
        moved: int,
        size: int,
        alignment: int,
        thread: int,
        time: int,
        caller: int,
    ) -> None:
        block = self._block
        block.kind.append(kind)
        block.key.append(key << self._shift & _WORD)
        block.moved.append(moved << self._shift & _WORD)
        block.size.append(size)
        block.alignment.append(alignment)
        block.thread.append(thread)
        block.time.append(time)
        block.caller.append(caller)
