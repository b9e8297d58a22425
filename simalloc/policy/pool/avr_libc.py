"""avr-libc's malloc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.parts import PowerOfTwo
from simalloc.policy.pool.base import Pool


@dataclass(frozen=True, kw_only=True)
class AvrLibc(Pool):
    """Best fit in one list below a break that can also fall (avr-libc's malloc)."""

    family: ClassVar[str] = "avr libc"

    word: Annotated[
        int, PowerOfTwo(2, 4), "Bytes of a size_t: 2 on AVR, or 4 for comparison with other boards."
    ] = 2

    @property
    def is_monotone(self) -> bool:
        """True: the limit only refuses requests, including reallocs."""
        return True

    @property
    def payload(self) -> int:
        """Bytes of the size word."""
        return self.word

    @property
    def min_capacity(self) -> int:
        """Bytes of the smallest chunk."""
        return 2 * self.word

    def _own_parameters(self) -> dict[str, int | str]:
        return {"alignment": self.word}
