"""LVGL's built-in allocator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simalloc.policy.parts.tlsf_lists import (
    SMALLEST_BLOCK,
    block_bytes,
    control_bytes,
    core_parameters,
)
from simalloc.policy.pool.base import Pool, Word


@dataclass(frozen=True, kw_only=True)
class Lvgl(Pool):
    """TLSF with as many lists as the pool needs, and one address for all 0-byte requests (LVGL)."""

    family: ClassVar[str] = "lvgl"

    word: Word = 4

    @property
    def grain(self) -> int:
        """Sizes are rounded down to words."""
        return self.word

    @property
    def min_capacity(self) -> int:
        """Bytes of the smallest pool that has size classes."""
        return 1 << self._first_power

    @property
    def payload(self) -> int:
        """Bytes of the header."""
        return self.word

    def spell_location(self, region: int, number: int, offset: float) -> str:
        """Return the offset, or `z` for the fixed address of 0-byte requests outside the pool."""
        del region
        return "z" if number else str(offset)

    def block_bytes(self, size: int) -> int:
        """Return the size of the smallest suitable block of TLSF."""
        return block_bytes(self.word, size)

    @property
    def _first_power(self) -> int:
        """Logarithm of the bytes at which doublings begin: 32 words."""
        return 7 if self.word == 4 else 8

    def _own_parameters(self) -> dict[str, int | str]:
        power = (self.available - 1).bit_length()
        control = control_bytes(self.word, power - self._first_power + 1, 5)
        return {
            "word": self.word,
            **core_parameters(control=control, top=1 << power),
            "aligns": False,
            "node": SMALLEST_BLOCK * self.word,
            "has_zero": True,
        }
