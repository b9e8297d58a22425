"""The memory of CMSIS-RTX 5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from simalloc.errors import PolicyError
from simalloc.policy.parts import Range
from simalloc.policy.pool.base import Pool

_HEADER: Final = 8


@dataclass(frozen=True, kw_only=True)
class Rtx5(Pool):
    """First fit in address order over holes without headers (CMSIS-RTX 5)."""

    family: ClassVar[str] = "rtx5"

    word: Annotated[int, Range(4, 4), "Bytes of a machine word, always 4."] = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.available % _HEADER:
            raise PolicyError(f"capacity is {self.capacity}; use a multiple of {_HEADER}")

    @property
    def grain(self) -> int:
        """Unit of the pool's size; other sizes refuse every request."""
        return _HEADER

    @property
    def min_capacity(self) -> int:
        """Bytes of the head, the first header and the last header."""
        return 3 * _HEADER

    @property
    def payload(self) -> int:
        """Bytes of the header."""
        return _HEADER

    @property
    def is_monotone(self) -> bool:
        """True: no address depends on the end of the pool until a request is refused."""
        return True

    def min_from(self, high_water: int) -> int:
        """Return the high-water mark plus the last header."""
        return max(high_water + _HEADER, self.min_capacity)

    def _own_parameters(self) -> dict[str, int | str]:
        return {"word": self.word}
