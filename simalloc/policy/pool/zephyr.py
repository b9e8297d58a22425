"""Zephyr's sys_heap."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar, Final

from simalloc.errors import PolicyError
from simalloc.policy.parts import Count
from simalloc.policy.pool.base import Pool, Word, round_up

_UNIT: Final = 8
_MAX_SMALL: Final = 32767
"""Maximum units of a heap with small headers."""


class Through(Enum):
    """The function that the program calls."""

    SYS_HEAP = "sys_heap"
    K_MALLOC = "k_malloc"
    MALLOC = "malloc"


class Chunks(Enum):
    """Headers of chunks with 4-byte words."""

    AUTO = "auto"
    SMALL = "small"
    BIG = "big"


@dataclass(frozen=True, kw_only=True)
class Zephyr(Pool):
    """Rings by powers of two; a search tries only a few chunks of a ring (Zephyr's sys_heap)."""

    family: ClassVar[str] = "zephyr"
    follows_capacity: ClassVar[tuple[str, ...]] = ("pool_bytes", "end")
    columns: ClassVar[tuple[str, ...]] = ("alignment",)

    word: Word = 4
    through: Annotated[
        Through,
        "Function that the program calls: sys_heap_alloc, k_malloc, or the C library's malloc.",
    ] = Through.SYS_HEAP
    chunks: Annotated[
        Chunks,
        "CONFIG_SYS_HEAP_SMALL_ONLY, BIG_ONLY or AUTO: headers of 4 bytes, of 8 bytes, or "
        "chosen by the heap's size. With 8-byte words, headers have 8 bytes.",
    ] = Chunks.AUTO
    SYS_HEAP_ALLOC_LOOPS: Annotated[
        int, Count(1, 1 << 20), "Maximum number of chunks in a ring that a search examines."
    ] = 3
    SYS_HEAP_RUNTIME_STATS: Annotated[bool, "Keep statistics, in three words of the heap."] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chunks is Chunks.SMALL and (self.word == 8 or self._units > _MAX_SMALL):
            raise PolicyError(
                "chunks is small; it needs 4-byte words and a capacity of at most "
                f"{_UNIT * _MAX_SMALL + 4}"
            )

    @property
    def grain(self) -> int:
        """Unit of chunks in bytes."""
        return _UNIT

    @property
    def min_capacity(self) -> int:
        """Bytes of the heap's own chunk, the smallest chunk, and a footer."""
        return 64 + (3 * self.word if self.SYS_HEAP_RUNTIME_STATS else 0)

    @property
    def payload(self) -> int:
        """Bytes of a chunk's header, and of k_malloc's field behind it."""
        return self._header + self._front

    def block_bytes(self, size: int) -> int:
        """Return the bytes of a chunk's units, including the header."""
        return round_up(self.payload + size, _UNIT)

    @property
    def _front(self) -> int:
        return self.word if self.through is Through.K_MALLOC else 0

    @property
    def _units(self) -> int:
        """Number of units of the heap."""
        is_big = self.word == 8 or self.chunks is Chunks.BIG
        footer = 8 if is_big or self.available // _UNIT > _MAX_SMALL else 4
        return (self.available - footer) // _UNIT

    @property
    def _header(self) -> int:
        is_big = self.word == 8 or self.chunks is Chunks.BIG or self._units > _MAX_SMALL
        return 8 if is_big else 4

    def _own_parameters(self) -> dict[str, int | str]:
        units, min_units = self._units, self._header // 4
        buckets = (units - min_units + 1).bit_length()
        statistics = 3 * self.word if self.SYS_HEAP_RUNTIME_STATS else 0
        return {
            "word": self.word,
            "chunk_header": self._header,
            "first": round_up(16 + statistics + 4 * buckets, _UNIT),
            "end": units * _UNIT,
            "min_units": min_units,
            "loops": self.SYS_HEAP_ALLOC_LOOPS,
            "front": self._front,
            "program_alignment": 8 if self.through is Through.MALLOC else 0,
        }
