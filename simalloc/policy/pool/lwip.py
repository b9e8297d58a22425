"""lwIP's mem.c."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar, Final

from simalloc.policy.parts import PowerOfTwo, Range
from simalloc.policy.pool.base import Pool, Word, round_up

_SHORT: Final = 64000
"""Maximum bytes of a pool with 16-bit indices."""


class Index(Enum):
    """Number of bits of mem_size_t."""

    AUTO = "auto"
    SHORT = "16"
    LONG = "32"


@dataclass(frozen=True, kw_only=True)
class Lwip(Pool):
    """First fit in address order, by a walk over all blocks (lwIP's mem.c)."""

    family: ClassVar[str] = "lwip"

    word: Word = 4
    align: Annotated[int, PowerOfTwo(1, 64), "MEM_ALIGNMENT: alignment in bytes; boards use 4."] = 1
    start: Annotated[
        int, Range(0, 63), "Bytes by which the memory's start exceeds a multiple of `align`."
    ] = 0
    idx: Annotated[
        Index,
        "Bits of mem_size_t: 16, 32 or auto, which means 16 if `capacity` is at most 64000, "
        "else 32.",
    ] = Index.AUTO

    @property
    def is_monotone(self) -> bool:
        """True with one header size: no address depends on MEM_SIZE until a request is refused."""
        return self.idx is not Index.AUTO

    def min_from(self, high_water: int) -> int | None:
        """Return the high-water mark, because the end marker is located behind MEM_SIZE."""
        rounded = high_water - (-self.start % self.align) - self.align + self.grain
        return max(rounded, self.min_capacity) if self.is_monotone else None

    @property
    def grain(self) -> int:
        """Unit of MEM_SIZE, which lwIP rounds up to the alignment; a multiple of 4 on boards."""
        return min(self.align, 4)

    @property
    def payload(self) -> int:
        """Bytes of the header: two indices and a flag."""
        return round_up(6 if self._max_index == 0xFFFF else 12, self.align)

    @property
    def min_capacity(self) -> int:
        """Bytes of the smallest block."""
        return self.payload + round_up(12, self.align)

    def block_bytes(self, size: int) -> int:
        """Return the bytes of the header and the rounded size."""
        return self.payload + round_up(max(size, 12), self.align)

    @property
    def _max_index(self) -> int:
        is_short = self.available <= _SHORT if self.idx is Index.AUTO else self.idx is Index.SHORT
        return 0xFFFF if is_short else 0xFFFFFFFF

    def _own_parameters(self) -> dict[str, int | str]:
        return {
            "word": self.word,
            "alignment": self.align,
            "skew": self.start,
            "index": self._max_index,
        }
