"""The conservative collector of Boehm, Demers and Weiser, version 2.6."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import MAX_UNIT, Amount, Overhead, Positive, PowerOfTwo


@dataclass(frozen=True)
class BwGc(HeapFamily):
    """Frees are ignored: a freed object stays garbage until a collection reclaims it."""

    family: ClassVar[str] = "bw-gc"
    reference: ClassVar[str] = "bw_gc:BwGcHeap"

    page: Annotated[
        int,
        PowerOfTwo(64, MAX_UNIT),
        "Objects of up to half of it share pages of one size.",
    ] = 4096
    roots: Annotated[
        Amount,
        "The bytes of static data and stack that a collection looks through besides the heap.",
    ] = 65536
    divisor: Annotated[
        Positive,
        "A collection waits until as much was allocated as heap and roots have, divided by this.",
    ] = 4
    increment: Annotated[
        Positive, "The first growth, in pages; each is half as large again as the one before it."
    ] = 16
    most: Annotated[Positive, "The largest increment, in pages."] = 512

    @property
    def overhead(self) -> Overhead:
        """Overhead: a byte behind each object, so that a pointer to its end belongs to it."""
        return Overhead(footer=1)
