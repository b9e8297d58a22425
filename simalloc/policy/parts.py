"""The orthogonal parts that policies are made of, and how they are spelled in text."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

from simalloc.errors import PolicyError

MAX_UNIT: Final = 1 << 40
"""The largest growth unit, in scaled bytes."""

_SIZE: Final = re.compile(r"(\d+)([KMG]?)")
_FACTOR: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Fit(Enum):
    """Which of the free blocks that are large enough is taken (Wilson et al. 1995, 3.5)."""

    FIRST = "first"
    NEXT = "next"
    BEST = "best"


class Order(Enum):
    """How the list of free blocks is ordered: newest first, oldest first, or by address."""

    LIFO = "lifo"
    FIFO = "fifo"
    ADDRESS = "ao"


class Series(Enum):
    """The sizes of blocks that a policy deals in, from the smallest up."""

    POWERS = "2n"
    """2**N times the smallest."""
    POWERS_AND_THREES = "2n-3x2n"
    """2**N times the smallest, and the sizes halfway between."""


class LastRemainder(Enum):
    """Which requests may be cut from the remainder of the latest split before other free blocks."""

    NONE = "none"
    SMALL = "small"
    ANY = "any"


def parse_size(text: str) -> int:
    """Return the bytes that text such as `4096`, `64K` or `1M` stands for; K is 1024."""
    match = _SIZE.fullmatch(text.strip().upper())
    if match is None:
        raise PolicyError(f"{text!r} is not a size; write a whole number, or one with K, M or G")
    return int(match[1]) * _FACTOR[match[2]]


def format_size(size: int) -> str:
    """Spell a size as `parse_size` reads it, as short as it is exact."""
    for letter in "GMK":
        if size and size % _FACTOR[letter] == 0:
            return f"{size // _FACTOR[letter]}{letter}"
    return str(size)


def check_unit(name: str, size: int, multiple: int = 1) -> None:
    """Raise `PolicyError` unless `size` is usable as the parameter `name`."""
    if not 0 < size <= MAX_UNIT or size % multiple:
        of = f" that is a multiple of {multiple}" if multiple > 1 else ""
        raise PolicyError(f"{name} is {size}; it takes a size from 1 to {MAX_UNIT}{of}")
