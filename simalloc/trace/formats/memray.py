"""memray's capture files, read record by record through memray itself (the extra `memray`)."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from simalloc.trace.events import Op
from simalloc.trace.formats.log import Batch, Reading
from simalloc.trace.formats.numbering import Numbering
from simalloc.trace.intake import Events

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simalloc.trace.formats.log import Log

_MAGIC: Final = b"memray\0"
_LZ4: Final = b"\x04\x22\x4d\x18"
_RECORDS: Final = 1 << 14
_BLOCK: Final = 1 << 20
_COLUMNS: Final = ("thread", "site")

# memray's AllocatorType: a realloc is recorded as a free and an allocation.
_FREES: Final = (1, 5)
_MAPPINGS: Final = (14, 15)
_KNOWN: Final = range(1, 16)


@dataclass(frozen=True)
class _Memray:
    """A file that holds every allocation; one of totals by place is refused."""

    name: str = "memray"
    title: str = "memray"

    def sniff(self, head: bytes) -> bool:
        """Whether a log that begins with `head` is of this kind."""
        return head.startswith(_MAGIC) or (head.startswith(_LZ4) and _MAGIC in head[:64])

    def read(self, log: Log) -> Reading:
        """Read the log's events."""
        try:
            import memray  # noqa: PLC0415 - an extra that only this format needs
        except ImportError:
            raise log.wrong(
                "is a file of memray, which is needed to read it: pip install 'simalloc[memray]'"
            ) from None
        return Reading(_COLUMNS, _batches(log, memray))


def _batches(log: Log, memray: Any) -> Iterator[Batch]:
    threads, sites = Numbering(), Numbering(first=1)
    for numbers in _records(log, memray):
        allocator, address, size, thread, site = numbers
        mapped = np.isin(allocator, _MAPPINGS)
        log.leave_out("mappings of memory (mmap and munmap)", int(np.count_nonzero(mapped)))
        free = np.isin(allocator, _FREES)
        op = np.where(free, Op.FREE, Op.MALLOC).astype(np.uint8)
        columns: dict[str, Any] = {
            "thread": threads(thread).astype(np.uint32),
            "site": np.where(free, 0, sites(site)).astype(np.uint32),
        }
        events = Events(op, address, size, columns=columns)
        yield Batch(events.taken(~mapped), hexadecimal=True)


def _records(log: Log, memray: Any) -> Iterator[Any]:
    """Yield allocator, address, size, thread and place of the records, shape (5, records)."""
    with tempfile.NamedTemporaryFile(suffix=".memray") as copy:  # memray reads files alone
        while block := log.stream.read(_BLOCK):
            copy.write(block)
        copy.flush()
        try:
            with memray.FileReader(copy.name) as reader:
                records = reader.get_allocation_records()
                while rows := [_row(record) for record in islice(records, _RECORDS)]:
                    yield np.array(rows, np.uint64).astype(np.int64).T
        except NotImplementedError:
            raise log.wrong(
                "holds memray's totals by place and not the allocations: record again without "
                "--aggregate"
            ) from None
        except (OSError, RuntimeError, ValueError, EOFError, OverflowError) as error:
            raise log.wrong(f"memray cannot read it: {error}") from error


def _row(record: Any) -> tuple[int, int, int, int, int]:
    if record.allocator not in _KNOWN:
        raise ValueError(f"allocator {record.allocator} is unknown")
    return record.allocator, record.address, record.size, record.tid, record.stack_id


FORMAT: Final = _Memray()
