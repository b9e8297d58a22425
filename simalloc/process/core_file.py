"""A core file, as the kernel or a debugger writes it."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process.mappings import PAGE, Mapping
from simalloc.process.region import PRESENT
from simalloc.process.target import ProcessError, Target, Thread

_ELF_64_LITTLE: Final = b"\x7fELF\x02\x01"
_CORE: Final = 4
_X86_64: Final = 62
_MANY_HEADERS: Final = 0xFFFF
_LOAD, _NOTE = 1, 4
_NT_PRSTATUS, _NT_PRPSINFO, _NT_FILE = 1, 3, 0x46494C45
_THREAD_NUMBER: Final = 32
_FS_BASE: Final = 112 + 21 * 8
"""Offsets in NT_PRSTATUS."""


@dataclass(frozen=True)
class _Segment:
    start: int
    end: int
    offset: int
    """In the file."""
    stored: int
    """Bytes in the file; the rest was not written."""
    flags: int


class CoreFile(Target):
    """A core file of a process on x86-64."""

    knows_pages: ClassVar[bool] = False

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.process = None
        self.command = ""
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size < 64:
                raise ProcessError(f"{path} is not a core file: it has only {size} bytes")
            self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._bytes = np.frombuffer(self._file, np.uint8)
        self._segments: list[_Segment] = []
        self._files: list[tuple[int, int, int, str]] = []
        self._threads: list[Thread] = []
        try:
            self._read_headers()
        except struct.error:
            raise ProcessError(f"{path} is a damaged core file: its headers end early") from None
        self._mappings = [self._mapping(one) for one in self._segments]

    def mappings(self) -> list[Mapping]:
        """Return the mappings, by address."""
        return self._mappings

    def threads(self) -> list[Thread]:
        """Return the threads."""
        return self._threads

    def pages(self, start: int, end: int) -> NDArray[np.uint8]:
        """Return every page as present: a core file does not say which were."""
        return np.full((end - start) // PAGE, PRESENT, np.uint8)

    def copy(
        self,
        start: NDArray[np.uint64],
        length: NDArray[np.uint64],
        place: NDArray[np.uint64],
        into: NDArray[np.uint8],
    ) -> int:
        """Copy ranges into an array at places; return the bytes that are not in the file."""
        missing = 0
        starts = np.array([one.start for one in self._segments], np.uint64)
        first = np.searchsorted(starts, start, side="right").astype(np.int64) - 1
        ranges = zip(start.tolist(), length.tolist(), place.tolist(), first.tolist(), strict=True)
        for address, size, at, segment in ranges:
            missing += size - self._copy_one(address, size, at, max(segment, 0), into)
        return missing

    def _copy_one(
        self, address: int, size: int, at: int, segment: int, into: NDArray[np.uint8]
    ) -> int:
        """Copy a range that may cross segments; return the bytes copied."""
        end, copied = address + size, 0
        while segment < len(self._segments) and self._segments[segment].start < end:
            one = self._segments[segment]
            low, high = max(address, one.start), min(end, one.start + one.stored)
            if low < high:
                source = one.offset + low - one.start
                target = at + low - address
                into[target : target + high - low] = self._bytes[source : source + high - low]
                copied += high - low
            segment += 1
        return copied

    def file_bytes(self, mapping: Mapping) -> bytes | None:  # noqa: ARG002 - a target's signature
        """Return None: the files here may not be those of the process."""
        return None

    def _read_headers(self) -> None:
        self._check_kind()
        table, sections = struct.unpack_from("<QQ", self._file, 32)
        entry, count = struct.unpack_from("<HH", self._file, 54)
        if count == _MANY_HEADERS:  # then the first section's sh_info holds the number
            (count,) = struct.unpack_from("<I", self._file, sections + 44)
        if entry < 56 or table + entry * count > len(self._file):
            raise ProcessError(f"{self.name} is a damaged core file: its headers are cut off")
        for number in range(count):
            self._read_header(table + entry * number)
        self._segments.sort(key=lambda one: one.start)
        for before, one in zip(self._segments, self._segments[1:], strict=False):
            if before.end > one.start:
                raise ProcessError(f"{self.name} is a damaged core file: its segments overlap")
        if not self._segments:
            raise ProcessError(f"{self.name} is a damaged core file: it has no memory")

    def _check_kind(self) -> None:
        """Check that this is a core file of a machine that is known."""
        identity = self._file[:6]
        if identity[:4] != _ELF_64_LITTLE[:4]:
            raise ProcessError(f"{self.name} is not a core file: it is not in ELF")
        if identity != _ELF_64_LITTLE:
            raise ProcessError(
                f"{self.name} is from a 32-bit or big-endian machine; only x86-64 can be read"
            )
        kind, machine = struct.unpack_from("<HH", self._file, 16)
        if machine != _X86_64:
            raise ProcessError(
                f"{self.name} is from another machine (ELF number {machine}); only x86-64 can be "
                "read"
            )
        if kind != _CORE:
            raise ProcessError(f"{self.name} is not a core file, but a program or library")

    def _read_header(self, at: int) -> None:
        kind, flags, offset, start, _, stored, size = struct.unpack_from("<IIQQQQQ", self._file, at)
        if kind not in {_LOAD, _NOTE}:
            return
        if offset + stored > len(self._file):
            lost = offset + stored - len(self._file)
            raise ProcessError(
                f"{self.name} is cut off: {lost:,} bytes or more are missing. Check `ulimit -c` "
                "and the free space where it was written"
            )
        if kind == _NOTE:
            self._read_notes(offset, offset + stored)
        elif size:
            if start % PAGE or start + size > 1 << 64 or stored > size:
                raise ProcessError(
                    f"{self.name} is a damaged core file: a segment is not a mapping"
                )
            end = start + -(-size // PAGE) * PAGE
            self._segments.append(_Segment(start, end, offset, stored, flags))

    def _read_notes(self, at: int, end: int) -> None:
        for kind, content in _notes(self._file, at, end):
            if kind == _NT_PRSTATUS and len(content) >= _FS_BASE + 8:
                (number,) = struct.unpack_from("<i", content, _THREAD_NUMBER)
                (pointer,) = struct.unpack_from("<Q", content, _FS_BASE)
                self._threads.append(Thread(number, pointer or None))
            elif kind == _NT_PRPSINFO and len(content) >= 56:
                self.command = content[40:56].partition(b"\0")[0].decode("utf-8", "replace")
            elif kind == _NT_FILE:
                self._files = _mapped_files(content)

    def _mapping(self, one: _Segment) -> Mapping:
        letters = "".join(
            letter if one.flags & bit else "-" for letter, bit in (("r", 4), ("w", 2), ("x", 1))
        )
        for start, end, offset, name in self._files:
            if start <= one.start < end:
                return Mapping(one.start, one.end, f"{letters}p", offset, 1, name)
        return Mapping(one.start, one.end, f"{letters}p")


def _notes(file: mmap.mmap, at: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the type and content of each note."""
    while at + 12 <= end:
        name, size, kind = struct.unpack_from("<III", file, at)
        content = at + 12 + -(-name // 4) * 4
        if content + size > end:
            return
        yield kind, file[content : content + size]
        at = content + -(-size // 4) * 4


def _mapped_files(content: bytes) -> list[tuple[int, int, int, str]]:
    """Read NT_FILE: start, end, offset and path of each mapped file."""
    if len(content) < 16:
        return []
    count, page = struct.unpack_from("<QQ", content, 0)
    if count > (len(content) - 16) // 24:
        return []
    names = content[16 + 24 * count :].split(b"\0")
    found = []
    for number, name in zip(range(count), names, strict=False):
        start, end, offset = struct.unpack_from("<QQQ", content, 16 + 24 * number)
        found.append((start, end, offset * page, name.decode("utf-8", "replace")))
    return found
