"""GNU malloc by Haertel, of 1993 and 1995."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import MAX_UNIT, Aligning, Overhead, PowerOfTwo, Unit


@dataclass(frozen=True)
class Gnu(HeapFamily):
    """Pages by next fit; small objects in fragments of a power of two, one size per page."""

    family: ClassVar[str] = "gnu"
    reference: ClassVar[str] = "gnu:GnuHeap"

    page: Annotated[
        int,
        PowerOfTwo(64, MAX_UNIT),
        "Page size; requests of more than half a page take whole pages.",
    ] = 4096
    returned: Annotated[
        Unit,
        "A free run that ends at the break is returned whole if it has at least this many bytes.",
    ] = 32768

    @property
    def smallest_fragment(self) -> int:
        """Size of the smallest fragment: two words, for the two links of a free fragment."""
        return 2 * self.word

    @property
    def overhead(self) -> Overhead:
        """No overhead: fragments have neither header nor footer."""
        return Overhead()

    @property
    def aligning(self) -> Aligning:
        """Rule for requested alignments: natural up to a page, and above by extra pages."""
        return Aligning.by_pages(self.applied_overhead.alignment, self.page)
