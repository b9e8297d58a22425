"""Two-level segregated fit."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.base import Family
from simalloc.policy.parts import Aligning, Overhead, Unit


@dataclass(frozen=True)
class Tlsf(Family):
    """Lists by size, 32 to each doubling; the first whose blocks are all large enough serves."""

    family: ClassVar[str] = "tlsf"
    reference: ClassVar[str] = "tlsf:TlsfHeap"

    growth: Annotated[
        Unit, "The heap grows by multiples of this, less the free block that ends at the break."
    ] = 1
    minimum_split: Annotated[
        Unit, "A remainder smaller than this is not split off; with mechanism=on, than four words."
    ] = 1

    @property
    def overhead(self) -> Overhead:
        """The word of the size; a free block has two links and, behind it, its own address."""
        word = self.word
        return Overhead(header=word, alignment=word, minimum=4 * word)

    @property
    def table(self) -> int:
        """The bytes in front of the pool: bitmaps and the heads of the lists; and a last header.

        Read in the source: an empty block of four words, 4 bytes for each of the first levels and
        4 more, 32 heads for each; there are 24 of 4 bytes, or 25 of 8 bytes.
        """
        levels = 24 if self.word == 4 else 25
        bitmaps = 4 + 4 * levels
        return 4 * self.word + -(-bitmaps // self.word) * self.word + 32 * levels * self.word

    @property
    def aligning(self) -> Aligning:
        """By taking a larger block, and giving back what is over."""
        unit = self.applied_overhead.alignment
        grain = self.growth if unit % self.growth else unit  # at 1 it grows by what is asked for
        return self.cutting(grain, self.minimum_split)
