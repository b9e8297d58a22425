"""Doug Lea's malloc 2.8.6."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Amount, Overhead, Unit


@dataclass(frozen=True)
class Dlmalloc(HeapFamily):
    """Lists of small sizes and trees of large ones, a designated victim and a top."""

    family: ClassVar[str] = "dlmalloc"
    reference: ClassVar[str] = "dlmalloc:DlmallocHeap"
    cuts: ClassVar[bool] = True

    growth: Annotated[Unit, "Page size; the break rises and falls by multiples of it."] = 4096
    trim: Annotated[
        Amount, "The break is lowered if the top has more bytes than this after a free; 0: never."
    ] = 2 * 1024 * 1024
    map_from: Annotated[
        Amount, "Requests of at least this size may get a separate segment; 0: no request does."
    ] = 256 * 1024

    @property
    def overhead(self) -> Overhead:
        """Overhead: a word for the size; only free blocks use the word behind them."""
        return Overhead(header=self.word, alignment=2 * self.word, minimum=4 * self.word)
