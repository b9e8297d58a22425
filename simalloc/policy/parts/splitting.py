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
        "Whether the free block at the end of the heap counts towards what a growth has to bring.",
    ] = True
    trim: Annotated[
        Amount, "The break is lowered when the free block below it has this many bytes; 0: never."
    ] = 0
    trim_keep: Annotated[Amount, "How many bytes of that block stay."] = 0
