"""The heaps of FreeRTOS: heap_1, heap_2, heap_4 and heap_5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.parts import PowerOfTwo, Range
from simalloc.policy.pool.base import Pool, Word, round_up
from simalloc.policy.pool.regions import (
    Region,
    check_regions,
    read_regions,
    region_parameters,
    spell_in_region,
)


@dataclass(frozen=True, kw_only=True)
class FreeRtos(Pool):
    """Common parameters of FreeRTOS's heaps."""

    word: Word = 4
    align: Annotated[
        int,
        PowerOfTwo(4, 32),
        "portBYTE_ALIGNMENT: 8 on Cortex-M, 16 on RISC-V and AArch64.",
    ] = 8
    skew: Annotated[
        int, Range(0, 31), "Bytes by which the memory's start exceeds a multiple of `align`."
    ] = 0

    @property
    def grain(self) -> int:
        """Sizes are rounded down to the alignment."""
        return self.align

    @property
    def payload(self) -> int:
        """Bytes of the header: two words, rounded up."""
        return round_up(2 * self.word, self.align)

    def block_bytes(self, size: int) -> int:
        """Return the bytes of header and object, rounded up."""
        return round_up(self.payload + size, self.align)

    def _own_parameters(self) -> dict[str, int | str]:
        return {"word": self.word, "alignment": self.align, "skew": self.skew}


@dataclass(frozen=True, kw_only=True)
class Heap1(FreeRtos):
    """A mark that only rises; memory is never reused (FreeRTOS heap_1)."""

    family: ClassVar[str] = "freertos heap 1"

    @property
    def is_monotone(self) -> bool:
        """True: the mark does not depend on the pool."""
        return True

    def min_from(self, high_water: int) -> int:
        """Return the final mark plus the bytes that stay unused."""
        start = -self.skew % self.align
        return max(high_water - start + 2 * self.align, self.min_capacity)

    @property
    def payload(self) -> int:
        """0: blocks have no headers."""
        return 0

    @property
    def min_capacity(self) -> int:
        """Bytes lost to alignment, and the minimum that stays unused."""
        return 3 * self.align


@dataclass(frozen=True, kw_only=True)
class Heap2(FreeRtos):
    """Best fit without merging (FreeRTOS heap_2)."""

    family: ClassVar[str] = "freertos heap 2"

    @property
    def min_capacity(self) -> int:
        """Bytes of a header, and bytes lost to alignment."""
        return self.payload + 2 * self.align


@dataclass(frozen=True, kw_only=True)
class Heap4(FreeRtos):
    """First fit in address order, immediate coalescing (FreeRTOS heap_4)."""

    family: ClassVar[str] = "freertos heap 4"
    protector: Annotated[
        bool,
        "configENABLE_HEAP_PROTECTOR: pointers in free blocks are encoded. Placement does "
        "not change.",
    ] = False

    @property
    def is_monotone(self) -> bool:
        """True: no address depends on the end of the pool until a request is refused."""
        return True

    def min_from(self, high_water: int) -> int | None:
        """Return the high-water mark plus an end marker."""
        end = round_up(self.skew + high_water + self.payload, self.align) - self.skew
        return max(end, self.min_capacity)

    @property
    def min_capacity(self) -> int:
        """Bytes of an end marker, and bytes that may be lost to alignment at both ends."""
        return self.payload + 2 * self.align

    def _regions(self) -> list[Region]:
        return [Region(0, self.available)]

    def _own_parameters(self) -> dict[str, int | str]:
        lazy = type(self) is Heap4
        return {**super()._own_parameters(), "lazy": lazy} | region_parameters(self._regions())


@dataclass(frozen=True, kw_only=True)
class Heap5(Heap4):
    """First fit in address order over several regions of memory (FreeRTOS heap_5)."""

    family: ClassVar[str] = "freertos heap 5"

    regions: Annotated[
        str,
        "Regions as OFFSET+SIZE+OFFSET+SIZE..., in ascending order. A SIZE may be the "
        "letter N, which means `capacity`. Without a capacity, the region extends to the next "
        "region.",
    ] = "0+N"

    @property
    def is_monotone(self) -> bool:
        """True if only the last region grows: no block moves into it from a later region."""
        return self.regions.count("N") == 1 and self.regions.endswith("N")

    def min_from(self, high_water: int) -> int | None:
        """Return None: the high-water mark includes all regions."""
        del high_water
        return None

    @property
    def core(self) -> str:
        """Name of the core's implementation; heap_4 is heap_5 with one region."""
        return Heap4.family

    @property
    def has_more_memory(self) -> bool:
        """True if other regions exist beside the pool."""
        return self.regions != "0+N"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_regions(self.regions, self._regions(), self.min_capacity)

    def _regions(self) -> list[Region]:
        return read_regions(self.regions, self.capacity, self.available)

    def spell_location(self, region: int, number: int, offset: float) -> str:
        """Return the number of the region and the offset in it."""
        del number
        return spell_in_region(self._regions(), region, offset)
