"""GNU malloc, Haertel's, of 1993 and 1995."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import MAX_UNIT, Aligning, Overhead, PowerOfTwo, Unit


@dataclass(frozen=True)
class Gnu(HeapFamily):
    """Pages by next fit; small objects in fragments of a power of two, a page for each size."""

    family: ClassVar[str] = "gnu"
    reference: ClassVar[str] = "gnu:GnuHeap"

    page: Annotated[
        int,
        PowerOfTwo(64, MAX_UNIT),
        "Requests of more than half of it take whole pages.",
    ] = 4096
    returned: Annotated[
        Unit, "A free run below the break is given back whole when it has this many bytes."
    ] = 32768

    @property
    def smallest_fragment(self) -> int:
        """The size of the smallest fragment: two words, as a free one has two links."""
        return 2 * self.word

    @property
    def overhead(self) -> Overhead:
        """Nothing: fragments have neither header nor footer."""
        return Overhead()

    @property
    def aligning(self) -> Aligning:
        """Blocks are aligned by nature up to a page; above, more pages are taken and freed."""
        return Aligning.by_pages(self.applied_overhead.alignment, self.page)
