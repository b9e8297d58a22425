"""The heaps of FreeRTOS: heap_1, heap_2, heap_4 and heap_5."""

from __future__ import annotations

import re
from dataclasses import dataclass
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
    is_monotone: ClassVar[bool] = True

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
    is_monotone: ClassVar[bool] = True

    protector: Annotated[
        bool, "configENABLE_HEAP_PROTECTOR: pointers in free blocks are encoded; nothing moves."
    ] = False

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
    is_monotone: ClassVar[bool] = False

    regions: Annotated[
        str,
        "The regions as OFFSET+SIZE+OFFSET+SIZE..., in ascending order; a SIZE of N is `capacity`.",
    ] = "0+N"

    @property
    def core(self) -> str:
        """heap_4 is heap_5 with one region."""
        return Heap4.family

    def __post_init__(self) -> None:
        super().__post_init__()
        end = 0
        for start, size in self._regions():
            if start < end or size < self.least_capacity:
                raise PolicyError(
                    f"regions is {self.regions!r}: the region of {size} bytes at {start} begins "
                    f"below the end of the one before, {end}, or has less than "
                    f"{self.least_capacity} bytes"
                )
            end = start + size

    def _regions(self) -> list[tuple[int, int]]:
        if re.fullmatch(r"\d{1,15}\+(\d{1,15}|N)(\+\d{1,15}\+(\d{1,15}|N))*", self.regions) is None:
            raise PolicyError(
                f"regions is {self.regions!r}; it takes OFFSET+SIZE+OFFSET+SIZE..., such as "
                "0+4096+65536+N"
            )
        numbers = [self.available if part == "N" else int(part) for part in self.regions.split("+")]
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
        if len(pairs) > MOST_REGIONS:
            raise PolicyError(f"regions has {len(pairs)}; at most {MOST_REGIONS} can be simulated")
        return pairs

    def spell_location(self, region: int, number: int, offset: int) -> str:
        """Return the number of the region and the offset in it."""
        del number
        return f"{region}:{offset - self._regions()[region][0]}"
