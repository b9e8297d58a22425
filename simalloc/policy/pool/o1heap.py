"""o1heap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simalloc.policy.pool.base import Pool, Word, round_up


@dataclass(frozen=True, kw_only=True)
class O1heap(Pool):
    """Blocks of powers of two, from lists by powers of two: constant time (o1heap)."""

    family: ClassVar[str] = "o1heap"

    word: Word = 4

    @property
    def payload(self) -> int:
        """Bytes of the header, which is also the alignment."""
        return 4 * self.word

    @property
    def grain(self) -> int:
        """Bytes of the smallest fragment."""
        return 2 * self.payload

    @property
    def instance(self) -> int:
        """Bytes of the heap's structure: a list for each bit of a word, a mask, diagnostics."""
        diagnostics = 4 * self.word + 8
        return round_up(8 * self.word * self.word + self.word + diagnostics, self.payload)

    @property
    def min_capacity(self) -> int:
        """Bytes of the structure and one fragment."""
        return self.instance + self.grain

    def block_bytes(self, size: int) -> int:
        """Return a power of two that includes the header."""
        return max(self.grain, 1 << (size + self.payload - 1).bit_length())

    def _own_parameters(self) -> dict[str, int | str]:
        return {"word": self.word, "instance": self.instance}
