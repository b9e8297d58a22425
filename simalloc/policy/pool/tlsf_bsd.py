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
        """Unit of blocks: whole words."""
        return self.word

    @property
    def is_monotone(self) -> bool:
        """True: the heap grows only if no free block fits; the pool's end only refuses growth."""
        return True

    @property
    def payload(self) -> int:
        """Bytes of the header."""
        return self.word

    @property
    def min_capacity(self) -> int:
        """Bytes of two headers and the smallest block."""
        return 5 * self.word

    def _own_parameters(self) -> dict[str, int | str]:
        return {"word": self.word, "most": (1 << 29) - 4 if self.word == 4 else (1 << 37) - 8}
