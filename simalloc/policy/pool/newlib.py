"""newlib's full malloc in a limited sbrk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.parts import PowerOfTwo
from simalloc.policy.pool.base import Pool, Start, Word, round_up


@dataclass(frozen=True, kw_only=True)
class Newlib(Pool):
    """Best fit below a top that grows by pages (newlib's full malloc)."""

    family: ClassVar[str] = "newlib"
    columns: ClassVar[tuple[str, ...]] = ("alignment",)

    word: Word = 4
    page: Annotated[
        int, PowerOfTwo(128, 65536), "malloc_getpagesize: 4096, or 128 with SMALL_MEMORY."
    ] = 4096
    align: Annotated[
        int, PowerOfTwo(8, 16), "MALLOC_ALIGNMENT: 8, or 16 on MIPS and with 8-byte words."
    ] = 8
    start: Start = 0

    @property
    def grain(self) -> int:
        """Unit of the pool's size; any byte may decide whether the first top ends at a page."""
        return 1 if self.start % self.align else self.align

    @property
    def payload(self) -> int:
        """Bytes of two words: the previous chunk's size, which that chunk may use, and the size."""
        return 2 * self.word

    @property
    def min_capacity(self) -> int:
        """Bytes of the smallest chunk and the smallest top, and bytes lost to alignment."""
        first = self.start + 2 * self.word
        return round_up(first, self.align) - first + 8 * self.word

    def _own_parameters(self) -> dict[str, int | str]:
        return {
            "word": self.word,
            "alignment": self.align,
            "skew": self.start,
            "page": self.page,
        }
