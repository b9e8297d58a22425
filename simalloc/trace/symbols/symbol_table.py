"""Function names from a file's own symbol table: what is left without a symbolizer."""

from __future__ import annotations

import mmap
from bisect import bisect_right
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

_SECTION: Final = np.dtype(
    [("name", "<u4"), ("kind", "<u4"), ("flags", "<u8"), ("address", "<u8"), ("offset", "<u8"),
     ("size", "<u8"), ("link", "<u4"), ("info", "<u4"), ("align", "<u8"), ("entry", "<u8")]
)  # fmt: skip
_SYMBOL: Final = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"),
     ("size", "<u8")]
)  # fmt: skip
_SYMBOL_TABLE, _DYNAMIC_SYMBOLS, _FUNCTION = 2, 11, 2


def function_at(path: str, address: int) -> str:
    """Return the name of the function that has an address in a program or library; "" if none."""
    starts, ends, names = _functions(path)
    at = bisect_right(starts, address) - 1
    return names[at] if at >= 0 and address < ends[at] else ""


@cache
def _functions(path: str) -> tuple[list[int], list[int], list[str]]:
    try:
        with (
            Path(path).open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as all_,
        ):
            return _read(bytes(all_))
    except (OSError, ValueError, IndexError):
        return [], [], []


def _read(content: bytes) -> tuple[list[int], list[int], list[str]]:
    """Read the functions of a little-endian ELF file of 64 bits, by address (System V ABI)."""
    if content[:6] != b"\x7fELF\x02\x01":
        return [], [], []
    place, count = (
        int.from_bytes(content[40:48], "little"),
        int.from_bytes(content[60:62], "little"),
    )
    sections = np.frombuffer(content, _SECTION, count, place)
    found: dict[int, tuple[int, str]] = {}
    for table in sections[np.isin(sections["kind"], (_SYMBOL_TABLE, _DYNAMIC_SYMBOLS))]:
        symbols = np.frombuffer(content, _SYMBOL, int(table["size"]) // 24, int(table["offset"]))
        strings = int(sections[table["link"]]["offset"])
        functions = symbols[((symbols["info"] & 15) == _FUNCTION) & (symbols["size"] > 0)]
        for symbol in functions:
            start = strings + int(symbol["name"])
            name = content[start : content.index(b"\0", start)].decode("utf-8", "replace")
            found.setdefault(int(symbol["value"]), (int(symbol["size"]), name))
    starts = sorted(found)
    return (
        starts,
        [start + found[start][0] for start in starts],
        [found[start][1] for start in starts],
    )
