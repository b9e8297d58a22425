"""Vo's Vmalloc, method Vmbest."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Overhead, Unit


@dataclass(frozen=True)
class Vmalloc(HeapFamily):
    """Freed blocks wait until they are needed; best fit; the block at the break is used last."""

    family: ClassVar[str] = "vmalloc"
    reference: ClassVar[str] = "vmalloc:VmallocHeap"
    cuts: ClassVar[bool] = True

    growth: Annotated[Unit, "The heap grows by multiples of this."] = 32768
    page: Annotated[
        Unit,
        "If a block of at least this size is freed behind a free block, all waiting blocks "
        "are reclaimed.",
    ] = 8192

    @property
    def overhead(self) -> Overhead:
        """Overhead: two words, for segment and size; a tiny free block has two more for links."""
        return Overhead(header=2 * self.word, alignment=8, minimum=4 * self.word)
