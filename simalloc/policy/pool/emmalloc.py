"""Emscripten's emmalloc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simalloc.policy.pool.base import Pool, Start, Word


@dataclass(frozen=True, kw_only=True)
class Emmalloc(Pool):
    """Lists by size below a break; only a list's first region is tried (Emscripten's emmalloc)."""

    family: ClassVar[str] = "emmalloc"
    columns: ClassVar[tuple[str, ...]] = ("alignment",)

    word: Word = 4
    start: Start = 0

    @property
    def grain(self) -> int:
        """Unit of the break: 8 bytes."""
        return 8

    @property
    def payload(self) -> int:
        """Bytes of a region's size, which is repeated behind the program's bytes."""
        return self.word

    @property
    def min_capacity(self) -> int:
        """Bytes of the first region, the last region, and a free region between them."""
        return 12 * self.word

    def _own_parameters(self) -> dict[str, int | str]:
        return {"word": self.word, "skew": self.start}
