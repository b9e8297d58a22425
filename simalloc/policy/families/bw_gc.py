"""The conservative collector of Boehm, Demers and Weiser, version 2.6."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.errors import PolicyError
from simalloc.policy.families.base import Family
from simalloc.policy.parts import MAX_UNIT, Amount, Overhead, Range, Unit


@dataclass(frozen=True)
class BwGc(Family):
    """Frees are ignored: an object is garbage from then on, until a collection gives it back."""

    family: ClassVar[str] = "bw-gc"
    reference: ClassVar[str] = "bw_gc:BwGcHeap"

    page: Annotated[int, Range(64, MAX_UNIT)] = 4096
    """A power of two; objects of up to half of it share pages of one size."""
    roots: Amount = 65536
    """The bytes of static data and stack that a collection looks through besides the heap."""
    divisor: Unit = 4
    """A collection waits until as much was allocated as heap and roots have, divided by this."""
    increment: Unit = 16
    """The first growth, in pages; each is half as large again as the one before it."""
    most: Unit = 512
    """The largest increment, in pages."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.page & (self.page - 1):
            raise PolicyError(f"page is {self.page}; it takes a power of two")

    @property
    def overhead(self) -> Overhead:
        """A byte behind each object, so that a pointer to its end belongs to it."""
        return Overhead(footer=1)
