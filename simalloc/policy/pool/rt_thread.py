"""RT-Thread's small memory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar, Final

from simalloc.policy.parts import PowerOfTwo, Range
from simalloc.policy.pool.base import Pool, Word, round_up

_NAME: Final = 10
"""Bytes of a kernel object's name, for an RT_NAME_MAX of 8."""


class Release(Enum):
    """Release of RT-Thread."""

    FULL = "5.2.0"
    NANO = "nano4.1.1"


@dataclass(frozen=True, kw_only=True)
class RtThread(Pool):
    """First fit in address order, by a walk over all blocks (RT-Thread's small memory)."""

    family: ClassVar[str] = "rt thread"
    columns: ClassVar[tuple[str, ...]] = ("alignment",)

    word: Word = 4
    align: Annotated[int, PowerOfTwo(4, 32), "RT_ALIGN_SIZE: alignment in bytes."] = 8
    skew: Annotated[
        int, Range(0, 31), "Bytes by which the memory's start exceeds a multiple of `align`."
    ] = 0
    version: Annotated[
        Release, "Release: RT-Thread 5.2.0 or Nano 4.1.1, which have the same rules."
    ] = Release.FULL

    @property
    def grain(self) -> int:
        """Unit of the end, which is rounded down to the alignment."""
        return self.align

    @property
    def payload(self) -> int:
        """Bytes of the header: three words."""
        return round_up(3 * self.word, self.align)

    @property
    def control(self) -> int:
        """Bytes of the control block: a kernel object and four words."""
        return round_up(_NAME, self.word) + 11 * self.word

    @property
    def min_capacity(self) -> int:
        """Bytes of the control block, two headers and the smallest block, plus alignment loss."""
        return round_up(self.control, self.align) + 3 * self.payload + 2 * self.align

    def block_bytes(self, size: int) -> int:
        """Return the bytes of the header and the rounded size."""
        return self.payload + round_up(size, self.align)

    def _own_parameters(self) -> dict[str, int | str]:
        return {
            "word": self.word,
            "alignment": self.align,
            "skew": self.skew,
            "control": self.control,
        }
