"""Doug Lea's malloc 2.6.6."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Amount, Overhead, Unit


@dataclass(frozen=True)
class Lea(HeapFamily):
    """Best fit through bins, a last remainder that is tried first, and a top that can shrink."""

    family: ClassVar[str] = "lea"
    reference: ClassVar[str] = "lea:LeaHeap"
    cuts: ClassVar[bool] = True

    growth: Annotated[Unit, "Page size; the break rises and falls by multiples of it."] = 4096
    trim: Annotated[
        Amount,
        "The break is lowered if the top has at least this many bytes after a free; 0: never.",
    ] = 128 * 1024
    map_from: Annotated[
        Amount, "Requests of at least this size may get a separate segment; 0: no request does."
    ] = 128 * 1024

    @property
    def overhead(self) -> Overhead:
        """Overhead: a word for the size; only free blocks use the word behind them."""
        return Overhead(header=self.word, alignment=2 * self.word, minimum=4 * self.word)
