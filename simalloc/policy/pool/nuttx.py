"""NuttX's heap, mm_heap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.parts import PowerOfTwo, Range
from simalloc.policy.pool.base import AMPLE, Pool, Start, Word, round_up
from simalloc.policy.pool.regions import (
    Region,
    check_regions,
    read_regions,
    region_parameters,
    spell_in_region,
)

_MIN_CONFIGURED = 4
"""CONFIG_MM_REGIONS of the recorded build with several regions."""


@dataclass(frozen=True, kw_only=True)
class Nuttx(Pool):
    """Best fit, the newest of equal blocks (NuttX's mm_heap)."""

    family: ClassVar[str] = "nuttx"
    columns: ClassVar[tuple[str, ...]] = ("alignment",)
    follows_capacity: ClassVar[tuple[str, ...]] = ("pool_bytes", "size_0")

    word: Word = 4
    align: Annotated[int, PowerOfTwo(4, 16), "CONFIG_MM_DEFAULT_ALIGNMENT: alignment in bytes."] = 8
    skew: Start = 0
    small: Annotated[bool, "CONFIG_MM_SMALL: sizes have 16 bits."] = False
    control: Annotated[
        int,
        Range(0, 65536),
        "Bytes of struct mm_heap_s in the board's configuration. 0 means 348, or 656 with "
        "8-byte words, or 188 with `small`, and more with `regions`.",
    ] = 0
    delay: Annotated[
        int,
        Range(0, 65535),
        "CONFIG_MM_FREE_DELAYCOUNT_MAX: number of freed chunks that wait for a malloc, which "
        "frees all of them; 0: no chunk waits.",
    ] = 0
    regions: Annotated[
        str,
        "Regions in addition to the pool, as OFFSET+SIZE+OFFSET+SIZE... in ascending order. "
        "Offsets are relative to the pool's start.",
    ] = ""

    @property
    def grain(self) -> int:
        """Unit of the heap's end, which is rounded down to the alignment."""
        return 1 if self.skew % self.align else self.align

    @property
    def unused_end(self) -> int:
        """Bytes behind the rounded end."""
        return (self.skew + self.available) % self.align

    @property
    def payload(self) -> int:
        """Bytes of two sizes."""
        return 2 * self._field

    @property
    def min_capacity(self) -> int:
        """Bytes of the heap's structure, two guards and a chunk."""
        return self._start + 4 * self._field + self._min + self.align

    def block_bytes(self, size: int) -> int:
        """Return the bytes of the size field and the object, rounded up."""
        return max(self._min, round_up(self._field + size, self.align))

    @property
    def _field(self) -> int:
        return 2 if self.small else self.word

    @property
    def _min(self) -> int:
        return round_up(32 if self.word == 8 else 16, self.align)

    @property
    def _control(self) -> int:
        if self.control:
            return self.control
        alone = 188 if self.small else 348 if self.word == 4 else 656
        ends = 2 * self.word * (max(_MIN_CONFIGURED, len(self._regions())) - 1)
        return alone + (ends + self.word if self.regions else 0)

    @property
    def has_more_memory(self) -> bool:
        """True if the heap has other regions besides the pool."""
        return bool(self.regions)

    def _regions(self) -> list[Region]:
        more = read_regions(self.regions, 0, AMPLE) if self.regions else []
        room = more[0].start if more else AMPLE
        return [Region(0, self.capacity or room), *more]

    @property
    def _start(self) -> int:
        behind = round_up(self.skew, self.align) + self._control + 4 * self._field
        return round_up(behind, self.align) - 4 * self._field - self.skew

    def spell_figures(
        self, figures: Mapping[str, int], location: tuple[int, int, float] | None
    ) -> Sequence[object]:
        """Return the figures; `mm_heapfree` wraps around like a size_t."""
        wraps = {"mm_heapfree": figures["mm_heapfree"] % (1 << (8 * self.word))}
        return super().spell_figures({**figures, **wraps}, location)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_regions(self.regions, self._regions(), 4 * self._field + self._min + self.align)

    def spell_location(self, region: int, number: int, offset: float) -> str:
        """Return the offset; with several regions, the region's number precedes it."""
        if not self.regions:
            return super().spell_location(region, number, offset)
        return spell_in_region(self._regions(), region, offset)

    def _own_parameters(self) -> dict[str, int | str]:
        return {
            "word": self.word,
            "alignment": self.align,
            "skew": self.skew,
            "control": self._control,
            "field": self._field,
            "min_chunk": self._min,
            "delay": self.delay,
        } | region_parameters(self._regions())
