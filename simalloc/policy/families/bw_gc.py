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
        "Page size. Objects of up to half a page share pages with objects of the same size.",
    ] = 4096
    roots: Annotated[
        Amount,
        "Bytes of static data and stack that a collection scans in addition to the heap.",
    ] = 65536
    divisor: Annotated[
        Positive,
        "Divisor N: no collection starts before the bytes allocated since the last collection "
        "reach 1/N of the bytes of heap and roots.",
    ] = 4
    increment: Annotated[
        Positive,
        "Initial increment, in pages. Each expansion after the first multiplies the "
        "increment by 1.5.",
    ] = 16
    most: Annotated[Positive, "Maximum increment, in pages."] = 512

    @property
    def overhead(self) -> Overhead:
        """Overhead: a byte behind each object, so that a pointer to its end belongs to it."""
        return Overhead(footer=1)
