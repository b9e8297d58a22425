"""newlib's malloc of nano.specs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

from simalloc.policy.pool.base import Pool, Start, Word, round_up


class Version(Enum):
    """Releases with different mallocs."""

    NEW = "4.5"
    OLD = "3.3"


@dataclass(frozen=True, kw_only=True)
class NewlibNano(Pool):
    """First fit in address order below a break (newlib's malloc of nano.specs)."""

    family: ClassVar[str] = "newlib nano"
    columns: ClassVar[tuple[str, ...]] = ("alignment",)

    word: Word = 4
    version: Annotated[
        Version, "Release: 4.5 for newlib 4.3.0 to 4.5.0, 3.3 for newlib up to 3.3.0 and for 4.1.0."
    ] = Version.NEW
    start: Start = 0

    @property
    def is_monotone(self) -> bool:
        """True for 3.3, where the limit only refuses requests."""
        return self.version is Version.OLD

    def min_from(self, high_water: int) -> int | None:
        """Return the highest break: in 3.3 the first refused sbrk is the first refused request."""
        return max(high_water, self.min_capacity) if self.is_monotone else None

    @property
    def grain(self) -> int:
        """Unit of chunks: whole words."""
        return 1 if self.start % self.word else self.word

    @property
    def payload(self) -> int:
        """Bytes of the size word.

        With 4-byte words, half of the objects have 4 more bytes in front.
        """
        return self.word

    @property
    def min_capacity(self) -> int:
        """Bytes of the smallest chunk, and bytes lost to alignment."""
        return round_up(self.start, self.word) - self.start + (12 if self.word == 4 else 16)

    def block_bytes(self, size: int) -> int:
        """Return the bytes of the size word and whole words."""
        return self.word + round_up(size, self.word)

    def _own_parameters(self) -> dict[str, int | str]:
        is_old = self.version is Version.OLD
        return {"word": self.word, "skew": self.start, "old": int(is_old)}
