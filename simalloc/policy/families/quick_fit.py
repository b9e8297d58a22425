"""Quick fit over libg++'s malloc."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.gxx import Gxx
from simalloc.policy.parts import Overhead, Range, Unit


@dataclass(frozen=True)
class QuickFit(Gxx):
    """Exact lists of small cells that are cut from an area; G++'s malloc serves larger blocks."""

    family: ClassVar[str] = "quick fit"
    reference: ClassVar[str] = "quick_fit:QuickFitHeap"

    small: Annotated[int, Range(1, 1 << 15), "Requests of up to this many bytes take cells."] = 32
    area: Annotated[Unit, "Bytes of the area that is requested from G++ and cut into cells."] = 4096

    @property
    def overhead(self) -> Overhead:
        """Overhead: a word for the size of a cell."""
        return Overhead(header=self.word, alignment=self.word, minimum=2 * self.word)

    @property
    def large_overhead(self) -> Overhead:
        """Overhead of a block in the bins; with a mechanism, G++'s tags."""
        return super(Gxx, self).overhead if self.mechanism else self.applied_overhead

    @property
    def aligning(self) -> None:
        """None: requested alignments are not served, because cells are not cut."""
        return
