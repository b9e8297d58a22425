"""The malloc of SunOS 4: better fit in a Cartesian tree."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Overhead, Unit


class Machine(Enum):
    """The machine that decides the header of a block."""

    M68K = "68k"
    """One word per header."""
    SPARC = "sparc"
    """Two words per header; the second pads to the alignment of a double."""


@dataclass(frozen=True)
class Cartesian(HeapFamily):
    """Better fit in a Cartesian tree, with larger blocks higher and lower addresses to the left."""

    family: ClassVar[str] = "cartesian tree"
    reference: ClassVar[str] = "cartesian:CartesianHeap"
    cuts: ClassVar[bool] = True
    is_slow: ClassVar[bool] = True

    growth: Annotated[Unit, "Page size; the heap grows by multiples of it."] = 4096
    machine: Annotated[Machine, "Machine whose block headers are modelled with mechanism=on."] = (
        Machine.M68K
    )

    @property
    def overhead(self) -> Overhead:
        """Overhead: a word for the size, padded to two words on SPARC."""
        unit = self.word * (2 if self.machine is Machine.SPARC else 1)
        return Overhead(header=unit, alignment=unit, minimum=2 * unit)
