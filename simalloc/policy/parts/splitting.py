"""Splitting of blocks at any byte, and growth and trimming of such heaps."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.parts.ranges import Amount, Unit


@dataclass(frozen=True, kw_only=True)
class Splitting:
    """Parameters of the families that split blocks at any byte (docs/policies.md, Parts)."""

    cuts: ClassVar[bool] = True

    minimum_split: Annotated[Unit, "A remainder smaller than this is not split off."] = 1
    count_tail: Annotated[
        bool,
        "Count the free block at the end of the heap towards a growth.",
    ] = True
    trim: Annotated[
        Amount,
        "The break is lowered if the free block below it has at least this many bytes; 0: never.",
    ] = 0
    trim_keep: Annotated[Amount, "Bytes of the free block below the break that `trim` keeps."] = 0
