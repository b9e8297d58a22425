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

    word: Annotated[int, Range(4, 4), "The bytes of a machine word: 4."] = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.available % _HEADER:
            raise PolicyError(f"capacity is {self.capacity}; rtx5 takes a multiple of {_HEADER}")

    @property
    def grain(self) -> int:
        """A pool of another size refuses everything."""
        return _HEADER

    @property
    def min_capacity(self) -> int:
        """The head, the first header and the last."""
        return 3 * _HEADER

    @property
    def payload(self) -> int:
        """The header."""
        return _HEADER

    @property
    def is_monotone(self) -> bool:
        """No address depends on the end of the pool until a request is refused."""
        return True

    def min_from(self, high_water: int) -> int:
        """Return the high-water mark with the last header."""
        return max(high_water + _HEADER, self.min_capacity)

    def _own_parameters(self) -> dict[str, int | str]:
        return {"word": self.word}
