"""glibc's malloc, 2.36."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.base import Family
from simalloc.policy.parts import Aligning, Amount, Overhead, Range, Unit


@dataclass(frozen=True)
class Ptmalloc(Family):
    """A thread cache and fast lists of blocks that do not merge, over bins and a top."""

    family: ClassVar[str] = "ptmalloc"
    reference: ClassVar[str] = "ptmalloc:PtmallocHeap"

    growth: Unit = 4096
    """The page: the break rises and falls by multiples of it."""
    top_pad: Amount = 128 * 1024
    """What a growth brings beyond the request, and what stays when the break falls."""
    trim: Amount = 128 * 1024
    """The break is lowered when the top has this many bytes; rises with `map_from`."""
    map_from: Amount = 128 * 1024
    """Requests this large get a segment of their own; rises when one is freed; 0: none does."""
    fast: Annotated[int, Range(0, 1 << 16)] = 16
    """Blocks of up to so many words are kept in fast lists, unmerged."""
    cache_lists: Annotated[int, Range(1, 1 << 16)] = 64
    """How many sizes, 16 bytes apart, the thread cache has."""
    cache_length: Annotated[int, Range(0, 1 << 16)] = 7
    """How many blocks of a size the thread cache holds."""

    @property
    def overhead(self) -> Overhead:
        """One word for the size; the word behind it is there in free blocks only."""
        return Overhead(header=self.word, alignment=16, minimum=4 * self.word)

    @property
    def aligning(self) -> Aligning:
        """By taking a larger block, and giving back what is over."""
        return self.cutting(self.growth)
