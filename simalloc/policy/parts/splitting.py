"""How blocks are split and how the heap grows and shrinks, where blocks are cut at any byte."""

from dataclasses import dataclass

from simalloc.policy.parts.ranges import Amount, Unit


@dataclass(frozen=True, kw_only=True)
class Splitting:
    """Parameters of the families that split blocks at any byte (docs/policies.md, Parts)."""

    minimum_split: Unit = 1
    """A remainder smaller than this is not split off."""
    count_tail: bool = True
    """Whether the free block at the end of the heap counts towards what a growth has to bring."""
    trim: Amount = 0
    """The break is lowered when the free block below it has this many bytes; 0: never."""
    trim_keep: Amount = 0
    """How many bytes of that block stay."""
