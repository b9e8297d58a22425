"""Names of data in mapped files: the vtable or variable that contains an address."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Sequence
from typing import Final

import numpy as np

from simalloc.process.mappings import Mapping
from simalloc.process.target import Target

_ELF_64_LITTLE: Final = b"\x7fELF\x02\x01"
_LOAD: Final = 1
_SYMTAB, _DYNSYM = 2, 11
_OBJECT: Final = 1
_SYMBOL: Final = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"),
     ("size", "<u8")]
)  # fmt: skip


class DataSymbols:
    """The names of data in the files that a process has mapped."""

    def __init__(self, target: Target, mappings: Sequence[Mapping]) -> None:
        self._target = target
        self._mappings = mappings
        self._files: dict[str, list[tuple[int, int, str]]] = {}

    def names(self, addresses: Sequence[int]) -> list[str]:
        """Return for each address a name such as `vtable for Session`, or the name of the file."""
        raw = [self._name(address) for address in addresses]
        return _demangled(raw)

    def _name(self, address: int) -> str:
        here = next((one for one in self._mappings if one.start <= address < one.end), None)
        if here is None:
            return ""
        if here.path not in self._files:
            self._files[here.path] = self._symbols(here.path)
        for start, end, name in self._files[here.path]:
            if start <= address < end:
                return name
        return f"pointer into {here.path.rpartition('/')[2]}"

    def _symbols(self, path: str) -> list[tuple[int, int, str]]:
        """Return the data symbols of a file: start, end and name."""
        first = next((one for one in self._mappings if one.path == path and not one.offset), None)
        content = None if first is None else self._target.file_bytes(first)
        if first is None or content is None:
            return []
        try:
            return _data_symbols(content, first.start)
        except (struct.error, ValueError, IndexError):  # a damaged file has no names
            return []


def _data_symbols(content: bytes, mapped_at: int) -> list[tuple[int, int, str]]:
    if content[:6] != _ELF_64_LITTLE:
        return []
    programs, sections = struct.unpack_from("<QQ", content, 32)
    entry, count, section_entry, section_count = struct.unpack_from("<4H", content, 54)
    bias = mapped_at
    for number in range(count):
        kind, _, offset, address = struct.unpack_from("<IIQQ", content, programs + entry * number)
        if kind == _LOAD and offset == 0:
            bias = mapped_at - address
    found = []
    heads = [
        struct.unpack_from("<IIQQQQII", content, sections + section_entry * number)
        for number in range(section_count)
    ]
    for head in heads:
        if head[1] in {_SYMTAB, _DYNSYM}:
            strings = heads[head[6]]
            names = content[strings[4] : strings[4] + strings[5]]
            table = np.frombuffer(content, _SYMBOL, head[5] // _SYMBOL.itemsize, head[4])
            table = table[((table["info"] & 15) == _OBJECT) & (table["size"] > 0)]
            found += [
                (int(one["value"]) + bias, int(one["value"] + one["size"]) + bias,
                 names[one["name"] : names.index(b"\0", one["name"])].decode("ascii", "replace"))
                for one in table
            ]  # fmt: skip
    return found


def _demangled(names: Sequence[str]) -> list[str]:
    """Return demangled names if a demangler is installed."""
    filter_ = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
    if filter_ is None or not any(name.startswith("_Z") for name in names):
        return list(names)
    try:
        run = subprocess.run(  # noqa: S603 - the names are passed on stdin
            [filter_],
            input="\n".join(names),
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return list(names)
    lines = run.stdout.splitlines()
    return lines if len(lines) == len(names) else list(names)
