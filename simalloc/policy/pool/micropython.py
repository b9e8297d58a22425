"""MicroPython's heap, without collection."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar, Final

from simalloc.policy.pool.base import Pool, Start, Word, round_up

_BITS: Final = 8


class Tables(Enum):
    """Tables of the heap besides the table of its blocks."""

    FINALISER = "fin"
    PLAIN = "plain"
    WEAK = "weak"


_MORE_BITS: Final = {Tables.PLAIN: 0, Tables.FINALISER: 4, Tables.WEAK: 8}
"""Bits that the other tables use for 4 blocks."""


@dataclass(frozen=True, kw_only=True)
class MicroPython(Pool):
    """First fit over a table of blocks (MicroPython's heap, without collection)."""

    family: ClassVar[str] = "micropython"
    follows_capacity: ClassVar[tuple[str, ...]] = ("pool_bytes", "first", "blocks")

    word: Word = 4
    tables: Annotated[
        Tables,
        "fin: with MICROPY_ENABLE_FINALISER, as on most boards; plain: without it; weak: "
        "with it and MICROPY_PY_WEAKREF.",
    ] = Tables.FINALISER
    start: Start = 0

    @property
    def is_monotone(self) -> bool:
        """True: the block that serves a request does not depend on the number of blocks."""
        return True

    @property
    def grain(self) -> int:
        """Unit of the heap's end, which is rounded down to whole blocks."""
        return 1 if self.start % self._block else self._block

    @property
    def min_capacity(self) -> int:
        """Bytes of four blocks and a byte of each table."""
        least = 1 - -self._bits // _BITS
        return round_up(self.start + least, self._block) - self.start

    @property
    def _block(self) -> int:
        """MICROPY_BYTES_PER_GC_BLOCK."""
        return 4 * self.word

    @property
    def _bits(self) -> int:
        """Bits of four blocks and of their parts of the tables."""
        return _BITS + _MORE_BITS[self.tables] + 4 * _BITS * self._block

    def _own_parameters(self) -> dict[str, int | str]:
        end = (self.start + self.available) // self._block * self._block - self.start
        blocks = 4 * ((end - 1) * _BITS // self._bits)
        return {
            "word": self.word,
            "block": self._block,
            "skew": self.start,
            "first": end - blocks * self._block,
            "blocks": blocks,
        }
