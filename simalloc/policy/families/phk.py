"""PhK malloc, FreeBSD's from 1995 on."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

from simalloc.errors import PolicyError
from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import MAX_UNIT, Aligning, Overhead, PowerOfTwo, Unit


class PageOrder(Enum):
    """Place at which a page that has a free chunk again enters the list of its size."""

    ALMOST = "almost"
    """As in the original: one page before the place that its address has."""
    ADDRESS = "address"
    """The place of its address."""
    NEWEST = "newest"
    """In front."""


@dataclass(frozen=True)
class Phk(HeapFamily):
    """Pages by first fit; small objects in chunks of a power of two, a page for each size."""

    family: ClassVar[str] = "phk"
    reference: ClassVar[str] = "phk:PhkHeap"

    page: Annotated[
        int,
        PowerOfTwo(1024, MAX_UNIT),
        "Requests of more than half of it take whole pages.",
    ] = 4096
    keep: Annotated[
        Unit, "A larger free run below the break is cut to this: whole pages, one at least."
    ] = 65536
    chunk_pages: Annotated[
        PageOrder,
        "The order of the pages with free chunks; `almost` is the original's, with its slip.",
    ] = PageOrder.ALMOST

    smallest: ClassVar[int] = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep % self.page:
            raise PolicyError(f"keep is {self.keep}; it takes whole pages, one at least")

    @property
    def overhead(self) -> Overhead:
        """Nothing: chunks have neither header nor footer."""
        return Overhead()

    @property
    def aligning(self) -> Aligning:
        """Blocks are aligned by nature up to a page; above, more pages are taken and freed."""
        return Aligning.by_pages(self.applied_overhead.alignment, self.page)
