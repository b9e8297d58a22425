"""Sizes in bytes as text: input such as `64K`, and output such as `1.5 KiB`."""

from __future__ import annotations

import re
from typing import Final

from simalloc.errors import SimallocError

BYTE_UNITS: Final = (
    (1 << 60, "EiB"),
    (1 << 50, "PiB"),
    (1 << 40, "TiB"),
    (1 << 30, "GiB"),
    (1 << 20, "MiB"),
    (1 << 10, "KiB"),
    (1, "B"),
)

_SIZE: Final = re.compile(r"(\d{1,100})([KMGT]?)")
FACTORS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """Return the bytes of a text such as `4096`, `64K` or `1M`, where K is 1024.

    Raises `SimallocError` for other text.
    """
    match = _SIZE.fullmatch(text.strip().upper())
    if match is None:
        raise SimallocError(
            f"{text!r} is not a size; write a whole number, or one with K, M, G or T"
        )
    return int(match[1]) * FACTORS[match[2]]


def format_size(size: int) -> str:
    """Format a size as `parse_size` reads it, exact and as short as possible."""
    for letter in "TGMK":
        if size and size % FACTORS[letter] == 0:
            return f"{size // FACTORS[letter]}{letter}"
    return str(size)


def spell_bytes(size: float) -> str:
    """Format bytes in the largest unit with a value of at least 1: 1536 is `1.5 KiB`."""
    unit, name = next((pair for pair in BYTE_UNITS if abs(size) >= pair[0]), BYTE_UNITS[-1])
    value = size / unit
    return (
        (f"{value:,.0f} {name}" if abs(value) >= 999.5 else f"{value:.3g} {name}") if size else "0"
    )


def spell_mib(size: float) -> str:
    """Format bytes in MiB, with two decimals below 100 MiB and one decimal above."""
    return f"{size / (1 << 20):,.{2 if abs(size) < 100 << 20 else 1}f} MiB"
