"""jserv's tlsf-bsd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simalloc.policy.pool.base import Pool, Word


@dataclass(frozen=True, kw_only=True)
class TlsfBsd(Pool):
    """TLSF over a heap that grows and shrinks in its pool (tlsf-bsd)."""

    family: ClassVar[str] = "tlsf bsd"
    columns: ClassVar[tuple[str, ...]] = ("alignment",)

    word: Word = 4

    @property
    def grain(self) -> int:
        """Blocks are of whole words."""
        return self.word

    @property
    def is_monotone(self) -> bool:
        """The heap grows only if no free block serves: the pool's end refuses that, and no more."""
        return True

    @property
    def payload(self) -> int:
        """The header."""
        return self.word

    @property
    def min_capacity(self) -> int:
        """Two headers and the least block."""
        return 5 * self.word

    def _own_parameters(self) -> dict[str, int | str]:
        return {"word": self.word, "most": (1 << 29) - 4 if self.word == 4 else (1 << 37) - 8}
