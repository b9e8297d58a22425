"""newlib's malloc of nano.specs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

from simalloc.policy.pool.base import Pool, Start, Word, round_up


class Version(Enum):
    """The releases whose malloc it is."""

    NEW = "4.5"
    OLD = "3.3"


@dataclass(frozen=True, kw_only=True)
class NewlibNano(Pool):
    """First fit in address order below a break (newlib's malloc of nano.specs)."""

    family: ClassVar[str] = "newlib nano"
    columns: ClassVar[tuple[str, ...]] = ("alignment",)

    word: Word = 4
    version: Annotated[
        Version, "4.5: newlib 4.3.0 to 4.5.0; 3.3: up to 3.3.0, whose malloc 4.1.0 has, too."
    ] = Version.NEW
    start: Start = 0

    @property
    def is_monotone(self) -> bool:
        """In 3.3, the limit refuses and decides nothing else."""
        return self.version is Version.OLD

    def min_from(self, high_water: int) -> int | None:
        """Return the highest break: in 3.3 the first sbrk that is refused is the first refusal."""
        return max(high_water, self.min_capacity) if self.is_monotone else None

    @property
    def grain(self) -> int:
        """Chunks are of whole words."""
        return 1 if self.start % self.word else self.word

    @property
    def payload(self) -> int:
        """The size word; in front of half of the objects are 4 more bytes, with 4-byte words."""
        return self.word

    @property
    def min_capacity(self) -> int:
        """The minimum chunk, and bytes lost to alignment."""
        return round_up(self.start, self.word) - self.start + (12 if self.word == 4 else 16)

    def block_bytes(self, size: int) -> int:
        """Return the size word and whole words."""
        return self.word + round_up(size, self.word)

    def _own_parameters(self) -> dict[str, int | str]:
        is_old = self.version is Version.OLD
        return {"word": self.word, "skew": self.start, "old": int(is_old)}
