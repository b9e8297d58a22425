"""Kingsley's allocator, the malloc of 4.2BSD and its descendants."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Overhead


class Variant(Enum):
    """Release of the allocator."""

    BSD_4_2 = "4.2bsd"
    """Version of September 1983."""
    BSD_4_4 = "4.4bsd"
    """Version of November 1984 and later, with pages."""


@dataclass(frozen=True)
class Kingsley(HeapFamily):
    """Blocks of a power of two, header included; never split, merged or returned to the system."""

    family: ClassVar[str] = "kingsley"
    reference: ClassVar[str] = "kingsley:KingsleyHeap"

    variant: Annotated[Variant, "Release whose rules apply."] = Variant.BSD_4_2

    smallest: ClassVar[int] = 8
    page: ClassVar[int] = 4096

    @property
    def overhead(self) -> Overhead:
        """Overhead: a word in front of each block, which identifies its list."""
        return Overhead(header=self.word)
