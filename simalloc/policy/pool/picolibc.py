"""picolibc's malloc."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

from simalloc.policy.parts import PowerOfTwo
from simalloc.policy.pool.base import Pool, Start, Word, round_up


class Version(Enum):
    """Releases with different mallocs."""

    NEW = "1.8.12"
    OLD = "1.8.10"


@dataclass(frozen=True, kw_only=True)
class Picolibc(Pool):
    """First fit in address order below a break (picolibc's malloc)."""

    family: ClassVar[str] = "picolibc"
    columns: ClassVar[tuple[str, ...]] = ("alignment",)

    word: Word = 4
    version: Annotated[Version, "Release; 1.8.10 means its default malloc."] = Version.NEW
    align: Annotated[
        int,
        PowerOfTwo(8, 16),
        "Alignment of max_align_t: 8 on 32-bit ARM, 16 on RISC-V and AArch64.",
    ] = 8
    start: Start = 0

    @property
    def grain(self) -> int:
        """Unit of the pool's size; the position of the first chunk depends on the start."""
        return 1 if self.start % self.word else self.word

    @property
    def payload(self) -> int:
        """Bytes of the size word."""
        return self.word

    @property
    def min_capacity(self) -> int:
        """Bytes of the smallest chunk, and bytes lost to alignment."""
        first = self.start + self.word
        return round_up(first, self.align) - first + 2 * max(self.word, self.align)

    def block_bytes(self, size: int) -> int:
        """Return the bytes of the size word and the object, rounded up."""
        return round_up(self.word + size, self.align)

    def _own_parameters(self) -> dict[str, int | str]:
        is_old = self.version is Version.OLD
        return {
            "word": self.word,
            "alignment": self.align,
            "skew": self.start,
            "old": int(is_old),
        }
