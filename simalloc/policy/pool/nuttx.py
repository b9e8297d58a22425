"""NuttX's heap, mm_heap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.parts import PowerOfTwo, Range
from simalloc.policy.pool.base import Pool, Word, round_up


@dataclass(frozen=True, kw_only=True)
class Nuttx(Pool):
    """Best fit, the newest of equals (NuttX's mm_heap)."""

    family: ClassVar[str] = "nuttx"
    columns: ClassVar[tuple[str, ...]] = ("alignment",)
    follows_capacity: ClassVar[tuple[str, ...]] = ("pool_bytes", "end")

    word: Word = 4
    align: Annotated[int, PowerOfTwo(4, 16), "CONFIG_MM_DEFAULT_ALIGNMENT."] = 8
    skew: Annotated[
        int, Range(0, 65535), "How far behind a multiple of 64 KiB the memory begins."
    ] = 0
    small: Annotated[bool, "CONFIG_MM_SMALL: sizes of 16 bits."] = False
    control: Annotated[
        int,
        Range(0, 65536),
        "The bytes of struct mm_heap_s, by the board's configuration; 0: 348, with 8-byte words "
        "656, with `small` 188.",
    ] = 0

    @property
    def grain(self) -> int:
        """The end is rounded down to the alignment."""
        return 1 if self.skew % self.align else self.align

    @property
    def payload(self) -> int:
        """Two sizes."""
        return 2 * self._field

    @property
    def least_capacity(self) -> int:
        """The heap's structure, two guards and a chunk."""
        return self._start + 4 * self._field + self._least + self.align

    @property
    def _field(self) -> int:
        return 2 if self.small else self.word

    @property
    def _least(self) -> int:
        return round_up(32 if self.word == 8 else 16, self.align)

    @property
    def _control(self) -> int:
        if self.control:
            return self.control
        return 188 if self.small else 348 if self.word == 4 else 656

    @property
    def _start(self) -> int:
        behind = round_up(self.skew, self.align) + self._control + 4 * self._field
        return round_up(behind, self.align) - 4 * self._field - self.skew

    def spell_figures(
        self, figures: Mapping[str, int], location: tuple[int, int, float] | None
    ) -> Sequence[object]:
        """Return the figures; `mm_heapfree` wraps around, as a size_t does."""
        wraps = {"mm_heapfree": figures["mm_heapfree"] % (1 << (8 * self.word))}
        return super().spell_figures({**figures, **wraps}, location)

    def _own_parameters(self) -> dict[str, int | str]:
        end = (self.skew + self.available) // self.align * self.align - self.skew
        return {
            "word": self.word,
            "alignment": self.align,
            "skew": self.skew,
            "control": self._control,
            "field": self._field,
            "least": self._least,
            "start": self._start,
            "end": end,
        }
