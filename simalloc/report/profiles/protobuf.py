"""Messages of protocol buffers, as far as a profile needs them (protobuf.dev/.../encoding)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_VARINT: Final = 0
_LENGTH: Final = 2
"""Wire types."""


def number(field: int, value: int) -> bytes:
    """Return a field that holds an integer; none is written for 0, which is what is left out."""
    return _varint(field << 3 | _VARINT) + _varint(value) if value else b""


def text(field: int, value: bytes) -> bytes:
    """Return a field that holds bytes: text in UTF-8, or a message."""
    return _varint(field << 3 | _LENGTH) + _varint(len(value)) + value


def packed(field: int, values: Iterable[int]) -> bytes:
    """Return a repeated field of integers."""
    return text(field, b"".join(map(_varint, values)))


def _varint(value: int) -> bytes:
    """Return an integer in groups of seven bits, the lowest first; a negative one has 64 bits."""
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
