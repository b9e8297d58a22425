"""musl's malloc, mallocng, as of 1.2.3."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Overhead


@dataclass(frozen=True)
class Musl(HeapFamily):
    """Groups of up to 32 slots of a class; small groups are located in slots of larger classes."""

    family: ClassVar[str] = "musl"
    reference: ClassVar[str] = "musl.musl:MuslHeap"
    columns: ClassVar[tuple[str, ...]] = ("alignment",)
    writes_itself: ClassVar[bool] = True

    writes_objects: ClassVar[bool] = True

    bounce: Annotated[
        bool, "Keep a group of a class whose groups were unmapped and mapped again too often."
    ] = True
    madv_free: Annotated[
        bool, "Offer free pages inside slots to the system, as musl up to 1.2.3 does."
    ] = True

    @property
    def overhead(self) -> Overhead:
        """No fixed overhead: a block is a slot."""
        return Overhead()

    def spell_location(self, region: int, number: int, offset: float) -> str:
        """Return `MAP:OFFSET`: the number of the mapping, and the object's offset in it."""
        del number
        return f"{region}:{offset}"

    def figure_columns(self, names: Sequence[str]) -> Sequence[str]:
        """Return the columns of the object's location, and of the figures."""
        return ("map", "offset", *names)

    def spell_figures(
        self, figures: Mapping[str, int], location: tuple[int, int, float] | None
    ) -> Sequence[object]:
        """Return the values of these columns after an event."""
        where = ("-", "-") if location is None else (location[0], location[2])
        return (*where, *figures.values())
