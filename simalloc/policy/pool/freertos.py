"""The heaps of FreeRTOS: heap_1, heap_2, heap_4 and heap_5."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar, Final

from simalloc.errors import PolicyError
from simalloc.policy.parts import PowerOfTwo, Range
from simalloc.policy.pool.base import Pool, Word, round_up

MOST_REGIONS: Final = 8


@dataclass(frozen=True, kw_only=True)
class FreeRtos(Pool):
    """What the heaps of FreeRTOS have in common."""

    word: Word = 4
    align: Annotated[
        int,
        PowerOfTwo(4, 32),
        "portBYTE_ALIGNMENT: 8 on Cortex-M, 16 on RISC-V and AArch64.",
    ] = 8
    skew: Annotated[
        int, Range(0, 31), "How far behind a multiple of `align` the memory begins."
    ] = 0

    @property
    def grain(self) -> int:
        """Sizes are rounded down to the alignment."""
        return self.align

    @property
    def payload(self) -> int:
        """The header: two words, rounded up."""
        return round_up(2 * self.word, self.align)

    def _own_parameters(self) -> dict[str, int | str]:
        return {"word": self.word, "alignment": self.align, "skew": self.skew}


@dataclass(frozen=True, kw_only=True)
class Heap1(FreeRtos):
    """A mark that only rises; nothing is given back (FreeRTOS heap_1)."""

    family: ClassVar[str] = "freertos heap 1"

    @property
    def is_monotone(self) -> bool:
        """The mark does not depend on the pool."""
        return True

    def least_from(self, high_water: int) -> int:
        """Return what the mark has reached, with the bytes that stay unused."""
        start = -self.skew % self.align
        return max(high_water - start + 2 * self.align, self.least_capacity)

    @property
    def payload(self) -> int:
        """There are no headers."""
        return 0

    @property
    def least_capacity(self) -> int:
        """What is lost to alignment, and the least that stays unused."""
        return 3 * self.align


@dataclass(frozen=True, kw_only=True)
class Heap2(FreeRtos):
    """Best fit without merging (FreeRTOS heap_2)."""

    family: ClassVar[str] = "freertos heap 2"

    @property
    def least_capacity(self) -> int:
        """A header, and what is lost to alignment."""
        return self.payload + 2 * self.align


@dataclass(frozen=True, kw_only=True)
class Heap4(FreeRtos):
    """First fit in address order, coalescing at once (FreeRTOS heap_4)."""

    family: ClassVar[str] = "freertos heap 4"
    protector: Annotated[
        bool, "configENABLE_HEAP_PROTECTOR: pointers in free blocks are encoded; nothing moves."
    ] = False

    @property
    def is_monotone(self) -> bool:
        """No address depends on the end of the pool until a request is refused."""
        return True

    def least_from(self, high_water: int) -> int | None:
        """Return the high-water mark with an end marker behind it."""
        end = round_up(self.skew + high_water + self.payload, self.align) - self.skew
        return max(end, self.least_capacity)

    @property
    def least_capacity(self) -> int:
        """An end marker, and what may be lost to alignment at both ends."""
        return self.payload + 2 * self.align

    def _regions(self) -> list[tuple[int, int]]:
        return [(0, self.available)]

    def _own_parameters(self) -> dict[str, int | str]:
        regions = self._regions()
        regions += [(0, 0)] * (MOST_REGIONS - len(regions))
        lazy = type(self) is Heap4
        return {
            **super()._own_parameters(),
            "lazy": lazy,
            **{f"start_{number}": start for number, (start, _) in enumerate(regions)},
            **{f"size_{number}": size for number, (_, size) in enumerate(regions)},
        }


@dataclass(frozen=True, kw_only=True)
class Heap5(Heap4):
    """The same over several regions of memory (FreeRTOS heap_5)."""

    family: ClassVar[str] = "freertos heap 5"

    regions: Annotated[
        str,
        "The regions as OFFSET+SIZE+OFFSET+SIZE..., in ascending order; a SIZE of N is `capacity`, "
        "or without one all up to the next region.",
    ] = "0+N"

    @property
    def is_monotone(self) -> bool:
        """It is if only the last region grows: no block moves into it from a later one."""
        return self.regions.count("N") == 1 and self.regions.endswith("N")

    def least_from(self, high_water: int) -> int | None:
        """Return nothing: the high-water mark is of all regions together."""
        del high_water
        return None

    @property
    def core(self) -> str:
        """heap_4 is heap_5 with one region."""
        return Heap4.family

    def __post_init__(self) -> None:
        super().__post_init__()
        end = 0
        for start, size in self._regions():
            if start < end:
                raise PolicyError(
                    f"regions is {self.regions!r}: the region at {start} begins below {end}, the "
                    "end of the one before"
                )
            if size < self.least_capacity:
                raise PolicyError(
                    f"regions is {self.regions!r}: the region at {start} has {size} bytes; with "
                    f"these parameters one takes {self.least_capacity} at least"
                )
            end = start + size

    def _regions(self) -> list[tuple[int, int]]:
        if re.fullmatch(r"\d{1,15}\+(\d{1,15}|N)(\+\d{1,15}\+(\d{1,15}|N))*", self.regions) is None:
            raise PolicyError(
                f"regions is {self.regions!r}; it takes OFFSET+SIZE+OFFSET+SIZE..., such as "
                "0+4096+65536+N"
            )
        parts = self.regions.split("+")
        starts = [int(part) for part in parts[::2]]
        rooms = [end - start for start, end in pairwise(starts)] + [self.available]
        pairs = [
            (start, (self.capacity or room) if size == "N" else int(size))
            for start, size, room in zip(starts, parts[1::2], rooms, strict=True)
        ]
        if len(pairs) > MOST_REGIONS:
            raise PolicyError(f"regions has {len(pairs)}; at most {MOST_REGIONS} can be simulated")
        return pairs

    def spell_location(self, region: int, number: int, offset: float) -> str:
        """Return the number of the region and the offset in it."""
        del number
        return f"{region}:{offset - self._regions()[region][0]}"
