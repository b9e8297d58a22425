"""RT-Thread's memheap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.parts import PowerOfTwo
from simalloc.policy.pool.base import Pool, Word, round_up
from simalloc.policy.pool.rt_thread import Release


@dataclass(frozen=True, kw_only=True)
class RtThreadMemheap(Pool):
    """First fit over a list of free blocks, the newest first (RT-Thread's memheap)."""

    family: ClassVar[str] = "rt thread memheap"
    columns: ClassVar[tuple[str, ...]] = ("alignment",)

    word: Word = 4
    align: Annotated[int, PowerOfTwo(4, 32), "RT_ALIGN_SIZE: alignment in bytes."] = 8
    best: Annotated[
        bool,
        "RT_MEMHEAP_BEST_MODE: a freed block enters the ring before the first block of at "
        "least its size.",
    ] = False
    version: Annotated[
        Release,
        "Release: RT-Thread 5.2.0, or Nano 4.1.1, whose minimum block has 12 bytes at any "
        "alignment.",
    ] = Release.FULL

    @property
    def grain(self) -> int:
        """Sizes are rounded down to the alignment."""
        return self.align

    @property
    def payload(self) -> int:
        """Bytes of the header: six words."""
        return round_up(6 * self.word, self.align)

    @property
    def min_payload(self) -> int:
        """Minimum bytes of a block's contents."""
        return 12 if self.version is Release.NANO else round_up(12, self.align)

    @property
    def min_capacity(self) -> int:
        """Bytes of two headers and the smallest block."""
        return 2 * self.payload + round_up(self.min_payload, self.align) + self.align

    def block_bytes(self, size: int) -> int:
        """Return the bytes of the header and the rounded size."""
        return self.payload + max(self.min_payload, round_up(size, self.align))

    def _own_parameters(self) -> dict[str, int | str]:
        return {
            "word": self.word,
            "alignment": self.align,
            "best": self.best,
            "min_payload": self.min_payload,
        }
