"""Binned fit: best fit through bins, with a last remainder and a wilderness."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Overhead, Splitting, Unit


class LastRemainder(Enum):
    """Requests that may be served from the remainder of the latest split before other blocks."""

    NONE = "none"
    SMALL = "small"
    ANY = "any"


@dataclass(frozen=True)
class BinnedFit(Splitting, HeapFamily):
    """Best fit through bins of free blocks, oldest first among equals; immediate coalescing.

    The block at the end of the heap (the wilderness) is used only if no other block fits. The
    remainder of the latest split may be preferred to a better fit.
    """

    family: ClassVar[str] = "binned fit"
    reference: ClassVar[str] = "binned_fit:BinnedFitHeap"

    last_remainder: Annotated[
        LastRemainder,
        "Requests that the remainder of the latest split may serve before other blocks.",
    ] = LastRemainder.SMALL
    small: Annotated[Unit, "Requests below this many bytes are small."] = 504
    growth: Annotated[Unit, "The heap grows by multiples of this."] = 4096
    count_tail: bool = False

    @property
    def overhead(self) -> Overhead:
        """Overhead: a word for the size; only free blocks use the word behind them (Lea 2.6.0)."""
        return Overhead(header=self.word, alignment=2 * self.word, minimum=4 * self.word)
