"""PhK malloc, the malloc of FreeBSD since 1995."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

from simalloc.errors import PolicyError
from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import MAX_UNIT, Aligning, Overhead, PowerOfTwo, Unit


class PageOrder(Enum):
    """Position at which a page that again has a free chunk enters the list of its size."""

    ALMOST = "almost"
    """One page before the place of its address, as in the original."""
    ADDRESS = "address"
    """At the place of its address."""
    NEWEST = "newest"
    """At the front."""


@dataclass(frozen=True)
class Phk(HeapFamily):
    """Pages by first fit; small objects in chunks of a power of two, one size per page."""

    family: ClassVar[str] = "phk"
    reference: ClassVar[str] = "phk:PhkHeap"

    page: Annotated[
        int,
        PowerOfTwo(1024, MAX_UNIT),
        "Page size; requests of more than half a page take whole pages.",
    ] = 4096
    keep: Annotated[
        Unit,
        "Maximum bytes of the free run that ends at the break: a multiple of the page size. "
        "The break falls if the run is larger.",
    ] = 65536
    chunk_pages: Annotated[
        PageOrder,
        "Order of the pages with free chunks; `almost` reproduces the original's order, with "
        "its error.",
    ] = PageOrder.ALMOST

    smallest: ClassVar[int] = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep % self.page:
            raise PolicyError(f"keep is {self.keep}; use a multiple of the page size, {self.page}")

    @property
    def overhead(self) -> Overhead:
        """No overhead: chunks have neither header nor footer."""
        return Overhead()

    @property
    def aligning(self) -> Aligning:
        """Rule for requested alignments: natural up to a page, and above by extra pages."""
        return Aligning.by_pages(self.applied_overhead.alignment, self.page)
