"""A core file written by the kernel or a debugger."""

from __future__ import annotations

import os
import struct
import weakref
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process.mappings import PAGE, Mapping
from simalloc.process.region import ABSENT, PRESENT, up
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
_PROGRAM_END: Final = 1 << 56
"""Upper bound of a program's addresses. The kernel's page [vsyscall] is above it."""
_RANGES_A_CHECK: Final = 1000
_MAX_NOTES: Final = 256 << 20
"""Maximum bytes of notes. A thread has some 5 KiB of notes, and a mapped file 24 bytes and its
path.
"""


@dataclass(frozen=True)
class _Segment:
    start: int
    end: int
    offset: int
    """Offset in the file."""
    stored: int
    """Number of bytes in the file. The remaining bytes were not written."""
    flags: int


class CoreFile(Target):
    """A core file of a process on x86-64."""

    knows_pages: ClassVar[bool] = False

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.process = None
        self.command = ""
        # The file is not mapped, because access to a mapping ends the program if the file has been
        # truncated.
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._file)
        self._size = os.lseek(self._file, 0, os.SEEK_END)
        if self._size < 64:
            raise ProcessError(f"{path} is not a core file: it has only {self._size} bytes")
        self._segments: list[_Segment] = []
        self._files: list[tuple[int, int, int, str]] = []
        self._pointers: dict[int, int] = {}
        """Thread pointers by thread number."""
        try:
            self._read_headers()
        except struct.error:
            raise ProcessError(f"{path} is a damaged core file: its headers end early") from None
        self._mappings = [self._mapping(one) for one in self._segments]

    def stored_bytes(self) -> int:
        """Return the bytes of the file."""
        return self._size

    def mappings(self) -> list[Mapping]:
        """Return the mappings in order of address."""
        return self._mappings

    def threads(self) -> list[Thread]:
        """Return the threads."""
        pointers = np.array(list(self._pointers.values()), np.uint64)
        right = self.are_thread_pointers(pointers).tolist()
        return [
            Thread(number, pointer if is_right else None)
            for (number, pointer), is_right in zip(self._pointers.items(), right, strict=True)
        ]

    def pages(self, start: int, end: int) -> NDArray[np.uint8]:
        """Return the stored pages as present.

        A core file does not record which pages were resident.
        """
        states = np.full((end - start) // PAGE, ABSENT, np.uint8)
        at = bisect_right(self._segments, start, key=attrgetter("start"))
        for one in self._segments[max(at - 1, 0) :]:
            if one.start >= end:
                break
            first = max(one.start - start, 0) // PAGE
            last = max(up(one.start + one.stored) - start, 0) // PAGE
            states[first:last] = PRESENT
        return states

    def copy(
        self,
        start: NDArray[np.uint64],
        length: NDArray[np.uint64],
        place: NDArray[np.uint64],
        into: NDArray[np.uint8],
    ) -> int:
        """Copy ranges into an array at places. Return the number of bytes missing from the file."""
        missing = 0
        starts = np.array([one.start for one in self._segments], np.uint64)
        first = np.searchsorted(starts, start, side="right").astype(np.int64) - 1
        ranges = zip(start.tolist(), length.tolist(), place.tolist(), first.tolist(), strict=True)
        for number, (address, size, at, segment) in enumerate(ranges):
            if number % _RANGES_A_CHECK == 0:
                self.check_time()
            missing += size - self._copy_one(address, size, at, max(segment, 0), into)
        return missing

    def _copy_one(
        self, address: int, size: int, at: int, segment: int, into: NDArray[np.uint8]
    ) -> int:
        """Copy a range that may cross segments. Return the number of copied bytes."""
        end, copied = address + size, 0
        while segment < len(self._segments) and self._segments[segment].start < end:
            one = self._segments[segment]
            low, high = max(address, one.start), min(end, one.start + one.stored)
            if low < high:
                target = at + low - address
                place = into[target : target + high - low].data
                copied += self._fill(place, one.offset + low - one.start)
            segment += 1
        return copied

    def _fill(self, place: memoryview, offset: int) -> int:
        """Read the bytes at an offset. Return their number, which is lower in a truncated file."""
        done = 0
        while read := os.preadv(self._file, [place[done:]], offset + done):
            done += read
        return done

    def file_bytes(self, mapping: Mapping) -> bytes | None:  # noqa: ARG002 - signature of a target
        """Return None, because this machine's files may differ from the files of the process."""
        return None

    def _read(self, offset: int, size: int) -> bytes:
        return os.pread(self._file, size, offset) if offset < self._size else b""

    def _unpack(self, form: str, offset: int) -> tuple[int, ...]:
        """Return numbers at an offset. Raises `struct.error` if the file ends before them."""
        return struct.unpack(form, self._read(offset, struct.calcsize(form)))

    def _read_headers(self) -> None:
        self._check_kind()
        table, sections = self._unpack("<QQ", 32)
        entry, count = self._unpack("<HH", 54)
        if count == _MANY_HEADERS:  # the first section's sh_info then contains the number
            (count,) = self._unpack("<I", sections + 44)
        if entry < 56 or table + entry * count > self._size:
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
        """Check that this is a core file of a known machine."""
        identity = self._read(0, 6)
        if identity[:4] != _ELF_64_LITTLE[:4]:
            raise ProcessError(f"{self.name} is not a core file: it is not in ELF")
        if identity != _ELF_64_LITTLE:
            raise ProcessError(
                f"{self.name} is from a 32-bit or big-endian machine; only x86-64 can be read"
            )
        kind, machine = self._unpack("<HH", 16)
        if machine != _X86_64:
            raise ProcessError(
                f"{self.name} is from another machine (ELF number {machine}); only x86-64 can be "
                "read"
            )
        if kind != _CORE:
            raise ProcessError(f"{self.name} is not a core file, but a program or library")

    def _read_header(self, at: int) -> None:
        kind, flags, offset, start, _, stored, size = self._unpack("<IIQQQQQ", at)
        if kind not in {_LOAD, _NOTE}:
            return
        if offset + stored > self._size:
            lost = offset + stored - self._size
            raise ProcessError(
                f"{self.name} is cut off: {lost:,} bytes or more are missing. Check `ulimit -c` "
                "and the free space where it was written"
            )
        if kind == _NOTE:
            self._read_notes(offset, stored)
        elif size:
            if start % PAGE or start + size > 1 << 64 or stored > size:
                raise ProcessError(
                    f"{self.name} is a damaged core file: a segment is not a mapping"
                )
            end = start + -(-size // PAGE) * PAGE
            if end <= _PROGRAM_END:
                self._segments.append(_Segment(start, end, offset, stored, flags))

    def _read_notes(self, offset: int, size: int) -> None:
        if size > _MAX_NOTES:
            raise ProcessError(f"{self.name} is a damaged core file: its notes are too long")
        for kind, content in self._notes(self._read(offset, size)):
            if kind == _NT_PRSTATUS and len(content) >= _FS_BASE + 8:
                (number,) = struct.unpack_from("<i", content, _THREAD_NUMBER)
                (self._pointers[number],) = struct.unpack_from("<Q", content, _FS_BASE)
            elif kind == _NT_PRPSINFO and len(content) >= 56:
                self.command = content[40:56].partition(b"\0")[0].decode("utf-8", "replace")
            elif kind == _NT_FILE:
                self._files = self._mapped_files(content)

    def _notes(self, notes: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield the type and content of each note."""
        at = 0
        while at + 12 <= len(notes):
            name, size, kind = struct.unpack_from("<III", notes, at)
            content = at + 12 + -(-name // 4) * 4
            if content + size > len(notes):
                raise ProcessError(f"{self.name} is a damaged core file: a note is cut off")
            yield kind, notes[content : content + size]
            at = content + -(-size // 4) * 4

    def _mapped_files(self, content: bytes) -> list[tuple[int, int, int, str]]:
        """Read NT_FILE: start, end, offset and path of each mapped file, in order of address."""
        count, page = struct.unpack_from("<QQ", content, 0)
        names = content[16 + 24 * count :].split(b"\0")[:-1]
        if len(names) < count:
            raise ProcessError(f"{self.name} is a damaged core file: its list of files is cut off")
        found = []
        for number, name in zip(range(count), names, strict=False):
            start, end, offset = struct.unpack_from("<QQQ", content, 16 + 24 * number)
            found.append((start, end, offset * page, name.decode("utf-8", "replace")))
        return sorted(found)

    def _mapping(self, one: _Segment) -> Mapping:
        letters = "".join(
            letter if one.flags & bit else "-" for letter, bit in (("r", 4), ("w", 2), ("x", 1))
        )
        place = bisect_right(self._files, one.start, key=itemgetter(0)) - 1
        if place >= 0 and one.start < self._files[place][1]:
            _, _, offset, name = self._files[place]
            return Mapping(one.start, one.end, f"{letters}p", offset, 1, name)
        return Mapping(one.start, one.end, f"{letters}p")
