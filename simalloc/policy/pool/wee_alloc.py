"""Rust's wee_alloc in a static array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.pool.base import Pool, Start, Word

_PAGE = 4096


@dataclass(frozen=True, kw_only=True)
class WeeAlloc(Pool):
    """Lists by size; a search removes each cell that does not fit, and loses it (wee_alloc)."""

    family: ClassVar[str] = "wee alloc"
    columns: ClassVar[tuple[str, ...]] = ("alignment",)

    word: Word = 4
    size_classes: Annotated[
        bool, "Feature size_classes: a list for each size of up to 256 words."
    ] = True
    start: Start = 0

    @property
    def is_monotone(self) -> bool:
        """True: the array's end only refuses requests."""
        return True

    def min_from(self, high_water: int) -> int | None:
        """Return the bytes taken plus one byte, which can never be taken."""
        return max(high_water + 1, self.min_capacity)

    @property
    def payload(self) -> int:
        """Bytes of a cell's end and its neighbour."""
        return 2 * self.word

    @property
    def min_capacity(self) -> int:
        """Bytes of a page, and the byte behind it."""
        return _PAGE + 1

    def _own_parameters(self) -> dict[str, int | str]:
        return {
            "pool_bytes": self.available - 1,
            "word": self.word,
            "skew": self.start,
            "size_classes": int(self.size_classes),
        }
