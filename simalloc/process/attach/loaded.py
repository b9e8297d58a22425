"""Objects that a process has loaded: their exported functions, read from its memory."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.process.glibc.state import data_areas
from simalloc.process.mappings import Mapping
from simalloc.process.target import Target

_ELF_64_LITTLE: Final = b"\x7fELF\x02\x01"
_PT_LOAD: Final = 1
_PT_DYNAMIC: Final = 2
_DT_STRTAB: Final = 5
_DT_SYMTAB: Final = 6
_DT_VERSYM: Final = 0x6FFFFFF0
_DT_GNU_HASH: Final = 0x6FFFFEF5
_HIDDEN: Final = 0x8000
_FUNCTION: Final = 2
_LONGEST_NAME: Final = 64
_MAX_HEADERS: Final = 128
_MAX_CODE: Final = 64 << 20
_RT_SIGRETURN: Final = re.compile(rb"(?:\x48\xc7\xc0|\xb8)\x0f\0\0\0\x0f\x05")
"""Load of the number 15 into register rax or eax, and the instruction syscall."""


class LoadedObject:
    """A program or library in the memory of a process.

    `base` is the address of its file's beginning.
    """

    def __init__(self, target: Target, base: int, path: str) -> None:
        self.path = path
        self._target = target
        self._bias = 0
        self._tables: dict[int, int] = {}
        header = target.bytes_at(base, 64)
        if header[:6] == _ELF_64_LITTLE:
            self._read_headers(base, header)

    def function(self, name: str) -> int:
        """Return the address of an exported function, or 0 if this object does not define it."""
        if not {_DT_STRTAB, _DT_SYMTAB, _DT_GNU_HASH} <= self._tables.keys():
            return 0
        table = self._tables[_DT_GNU_HASH]
        buckets, first, words, _ = struct.unpack("<4I", self._target.bytes_at(table, 16))
        if buckets == 0:
            return 0
        wanted = _hash(name)
        bucket = table + 16 + 8 * words
        chain = bucket + 4 * buckets
        number = self._word(bucket + 4 * (wanted % buckets), 4)
        while number >= first:
            found = self._word(chain + 4 * (number - first), 4)
            if found | 1 == wanted | 1 and (address := self._definition(number, name)):
                return address
            if found & 1:
                break
            number += 1
        return 0

    def _definition(self, number: int, name: str) -> int:
        """Return a symbol's address if it is this function in its default version, otherwise 0."""
        content = self._target.bytes_at(self._tables[_DT_SYMTAB] + 24 * number, 24)
        text, info, _, section, value = struct.unpack_from("<IBBHQ", content)
        if section == 0 or value == 0 or info & 15 != _FUNCTION:
            return 0
        versions = self._tables.get(_DT_VERSYM)
        if versions is not None and self._word(versions + 2 * number, 2) & _HIDDEN:
            return 0
        stored = self._target.bytes_at(self._tables[_DT_STRTAB] + text, _LONGEST_NAME)
        return self._bias + value if stored.partition(b"\0")[0] == name.encode() else 0

    def _read_headers(self, base: int, header: bytes) -> None:
        (offset,) = struct.unpack_from("<Q", header, 32)
        entry, count = struct.unpack_from("<HH", header, 54)
        dynamic, size, first = 0, 0, None
        for number in range(min(count, _MAX_HEADERS)):
            one = self._target.bytes_at(base + offset + entry * number, 56)
            kind, _, _, address, _, _, length, _ = struct.unpack("<IIQQQQQQ", one)
            if kind == _PT_LOAD and first is None:
                first = address & -4096
            elif kind == _PT_DYNAMIC:
                dynamic, size = address, min(length, 1 << 16)
        self._bias = base - (first or 0)
        content = self._target.bytes_at(self._bias + dynamic, size) if dynamic else b""
        for tag, value in struct.iter_unpack("<QQ", content[: len(content) // 16 * 16]):
            if tag in {_DT_STRTAB, _DT_SYMTAB, _DT_VERSYM, _DT_GNU_HASH}:
                self._tables[tag] = value if value >= self._bias else value + self._bias

    def _word(self, address: int, size: int) -> int:
        return int.from_bytes(self._target.bytes_at(address, size), "little")


def objects_of(target: Target, mappings: Sequence[Mapping]) -> Iterator[LoadedObject]:
    """Yield the objects that a process has loaded, in order of address."""
    for one in mappings:
        if one.inode and one.offset == 0 and one.readable and one.permissions[3] == "p":
            yield LoadedObject(target, one.start, one.path)


class AllocatorMemory:
    """Ranges of code and data of the C library, the loader, the allocators and the recorder.

    `restorers` are the addresses to which signal handlers return.
    """

    def __init__(
        self, target: Target, objects: Sequence[LoadedObject], mappings: Sequence[Mapping]
    ) -> None:
        paths = {one.path for one in objects if _is_amid(one)}
        code = [one for one in mappings if one.path in paths and "x" in one.permissions]
        self.code = _pairs([(one.start, one.end) for one in code])
        self.restorers = np.array(list(_restorers(target, mappings)), np.uint64)
        self.data = _pairs(
            [(start, end) for path, start, end in data_areas(mappings) if path in paths]
        )


def _is_amid(one: LoadedObject) -> bool:
    name = one.path.rpartition("/")[2]
    return name.startswith(("ld-linux", "ld-2", "libsimalloc_record")) or bool(
        one.function("malloc")
    )


def _restorers(target: Target, mappings: Sequence[Mapping]) -> Iterator[int]:
    """Yield the addresses of code that ends a signal handler by the system call rt_sigreturn."""
    for one in mappings:
        if "x" in one.permissions and one.inode and one.size <= _MAX_CODE:
            content = target.bytes_at(one.start, one.size)
            yield from (one.start + found.start() for found in _RT_SIGRETURN.finditer(content))


def _pairs(ranges: Sequence[tuple[int, int]]) -> NDArray[np.uint64]:
    return np.array(ranges, np.uint64).reshape(-1)


def _hash(name: str) -> int:
    """Return the hash of a name in the GNU hash table."""
    value = 5381
    for letter in name.encode():
        value = (value * 33 + letter) & 0xFFFFFFFF
    return value
