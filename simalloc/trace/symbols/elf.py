"""The symbols of a program or library in a 64-bit little-endian ELF file (System V ABI)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

MAX_BYTES: Final = 1 << 29
"""Maximum bytes of a table. A larger table is not read."""

_START: Final = b"\x7fELF\x02\x01"
_HEADER_BYTES: Final = 64
_SECTION: Final = np.dtype(
    [("name", "<u4"), ("kind", "<u4"), ("flags", "<u8"), ("address", "<u8"), ("offset", "<u8"),
     ("size", "<u8"), ("link", "<u4"), ("info", "<u4"), ("align", "<u8"), ("entry", "<u8")]
)  # fmt: skip
_SYMBOL: Final = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"),
     ("size", "<u8")]
)  # fmt: skip
_SYMBOL_TABLE, _DYNAMIC_SYMBOLS, _FUNCTION = 2, 11, 2


@dataclass(frozen=True)
class SymbolTable:
    """The functions that a table defines.

    `symbols` has the columns `value` (an address), `size` (bytes) and `name`, an offset in `names`.
    """

    symbols: NDArray[np.void]
    names: bytes

    def name(self, offset: int) -> str:
        """Return the name at an offset of the names."""
        end = self.names.find(b"\0", offset)
        return self.names[offset:end].decode("utf-8", "replace") if end >= 0 else ""

    def mentions(self, text: bytes) -> bool:
        """Return whether a defined or needed name, such as a library's name, contains a text."""
        return text in self.names

    def defines(self, name: str) -> bool:
        """Return whether the table defines a function of this name."""
        text = name.encode() + b"\0"
        offsets = []
        at = self.names.find(text)
        while at >= 0:
            offsets.append(at)
            at = self.names.find(text, at + 1)
        return bool(np.isin(self.symbols["name"], offsets).any()) if offsets else False


def symbol_tables(path: str | os.PathLike[str]) -> Iterator[SymbolTable]:
    """Yield the function tables of a file. Other parts of the file are not read.

    Yields nothing if the file cannot be read, is not a regular file, or is damaged. Opening never
    blocks.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return
    try:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            yield from _tables(descriptor)
    except (OSError, ValueError, IndexError, OverflowError):
        return
    finally:
        os.close(descriptor)


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Return whether a path leads to a regular file. An invalid name leads to no file."""
    try:
        return Path(path).is_file()
    except ValueError:
        return False


def _tables(descriptor: int) -> Iterator[SymbolTable]:
    header = _slice(descriptor, 0, _HEADER_BYTES)
    if not header.startswith(_START):
        return
    place, count = (int.from_bytes(header[at:to], "little") for at, to in ((40, 48), (60, 62)))
    sections = np.frombuffer(_slice(descriptor, place, count * _SECTION.itemsize), _SECTION, count)
    for table in sections[np.isin(sections["kind"], (_SYMBOL_TABLE, _DYNAMIC_SYMBOLS))]:
        strings = sections[table["link"]]
        content = _slice(descriptor, int(table["offset"]), int(table["size"]))
        symbols = np.frombuffer(content, _SYMBOL, len(content) // _SYMBOL.itemsize)
        is_defined = ((symbols["info"] & 15) == _FUNCTION) & (symbols["section"] != 0)
        yield SymbolTable(
            symbols[is_defined], _slice(descriptor, int(strings["offset"]), int(strings["size"]))
        )


def _slice(descriptor: int, offset: int, size: int) -> bytes:
    if size > MAX_BYTES:
        raise ValueError(size)
    return os.pread(descriptor, size, offset)
