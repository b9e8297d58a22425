"""Binary records of `libmtrace.so`, the interposer of glibc-malloc-trace-utils (mtrace.h).

A record has 64 bytes, little-endian. Its fields are the thread (int32), a word with the call, two
pointers, the requested size, the alignment, and two more words. The word with the call contains the
call in its lowest eight bits, and above them one bit for each path that malloc took. Records of
call 0 are unused. The first record is a marker with call 255, pointer 0x1234, and the size of a
pointer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import MAX_SIZE, Op, allocates
from simalloc.trace.formats.log import Batch, Log, Reading
from simalloc.trace.formats.numbering import Numbering
from simalloc.trace.shapes import ReadEvents

_RECORD: Final = np.dtype(
    [
        ("thread", "<u4"),
        ("call", "<u4"),
        ("old", "<i8"),
        ("new", "<i8"),
        ("size", "<u8"),
        ("alignment", "<u8"),
        ("more", "<u8", (3,)),
    ]
)
_RECORDS: Final = 1 << 16
_CALL: Final = 0xFF
_UNUSED, _MALLOC, _CALLOC, _FREE, _REALLOC, _MEMALIGN, _VALLOC, _PVALLOC, _POSIX = range(9)
_MARK: Final = 255
_MARK_POINTER: Final = 0x1234
_PAGE: Final = 4096
_PATHS: Final = (
    "thread_cache", "cpu_cache", "cpu_cache_contended", "sbrk", "mmap", "munmap",
    "realloc_as_malloc_and_free", "hook",
)  # fmt: skip
"""Paths through malloc, one for each bit above the call."""

_OPS: Final = np.full(256, 255, np.uint8)
_OPS[[_MALLOC, _MEMALIGN, _VALLOC, _PVALLOC, _POSIX]] = Op.MALLOC
_OPS[[_CALLOC, _FREE, _REALLOC]] = (Op.CALLOC, Op.FREE, Op.REALLOC)


@dataclass(frozen=True)
class _GlibcTrace:
    """The trace of one 64-bit process."""

    name: str = "glibc-trace"
    title: str = "glibc-malloc-trace-utils"

    def sniff(self, head: bytes) -> bool:
        """Return whether a log that begins with `head` has this format."""
        if len(head) < _RECORD.itemsize:
            return False
        mark = np.frombuffer(head, _RECORD, 1)[0]
        stated = int(mark["call"]) & _CALL, int(mark["old"]), int(mark["size"])
        return stated == (_MARK, _MARK_POINTER, 8)

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        if not self.sniff(log.stream.peek(_RECORD.itemsize)):
            raise log.wrong(
                "does not begin with the mark that libmtrace.so writes on 64-bit systems"
            )
        return Reading(("alignment", "thread"), _batches(log))


def _batches(log: Log) -> Iterator[Batch]:
    threads = Numbering()
    paths = dict.fromkeys(_PATHS, 0)
    first = 1  # number of the block's first record
    while block := log.stream.read(_RECORDS * _RECORD.itemsize):
        whole = len(block) // _RECORD.itemsize
        if len(block) % _RECORD.itemsize:
            log.complain("last records that are cut off", "the last record is cut off")
        records = np.frombuffer(block, _RECORD, whole)
        call = records["call"] & _CALL
        called = (call != _UNUSED) & (call != _MARK)
        for bit, path in enumerate(_PATHS):
            paths[path] += int(np.count_nonzero(called & (records["call"] >> (8 + bit) & 1 == 1)))
        log.provenance["paths"] = {path: count for path, count in paths.items() if count}
        yield _batch(log, records[called], call[called], threads, first + np.flatnonzero(called))
        first += whole


def _batch(
    log: Log,
    records: NDArray[np.void],
    call: NDArray[np.uint32],
    threads: Numbering,
    numbers: NDArray[np.int64],
) -> Batch:
    op = _OPS[call]
    known = op != _OPS[_UNUSED]
    if not known.all():
        log.complain(
            "records of an unknown call",
            f"a record has the unknown call {int(call[np.argmin(known)])}",
            count=int(np.count_nonzero(~known)),
        )
    old, new = records["old"], records["new"]
    size = np.minimum(records["size"], np.uint64(2**63 - 1)).astype(np.int64)
    realloc = op == Op.REALLOC
    op = np.where(realloc & (old == 0), np.uint8(Op.MALLOC), op)
    frees = realloc & (old != 0) & (new == 0) & (size == 0)
    op = np.where(frees, np.uint8(Op.FREE), op)
    failed = allocates(op) & (new == 0) & known
    log.leave_out("allocations that failed", int(np.count_nonzero(failed)))
    key = np.where(allocates(op) & (op != Op.REALLOC), new, old)
    alignment = _alignment(records, call)
    beyond = known & (alignment > MAX_SIZE)
    if beyond.any():
        which = int(np.argmax(beyond))
        log.complain(
            "alignments out of range",
            (
                f"record {numbers[which]} requests an alignment of {alignment[which]}; the "
                f"maximum is {MAX_SIZE}"
            ),
            count=int(np.count_nonzero(beyond)),
        )
    columns: dict[str, Any] = {
        "alignment": np.where(beyond, np.uint64(0), alignment).astype(np.int64),
        "thread": threads(records["thread"].astype(np.int64)).astype(np.uint32),
    }
    whole_pages = np.where(call == _PVALLOC, -(-size // _PAGE) * _PAGE, size)
    events = ReadEvents(op, key, np.where(op == Op.FREE, 0, whole_pages), new, columns)
    wanted = known & ~failed & ~beyond & (key != 0)
    return Batch(events.taken(wanted), hexadecimal=True)


def _alignment(records: NDArray[np.void], call: NDArray[np.uint32]) -> NDArray[np.uint64]:
    aligned = (call == _MEMALIGN) | (call == _POSIX)
    paged = (call == _VALLOC) | (call == _PVALLOC)
    return np.where(aligned, records["alignment"], np.where(paged, np.uint64(_PAGE), np.uint64(0)))


FORMAT: Final = _GlibcTrace()
