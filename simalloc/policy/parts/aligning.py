"""How a family serves the alignment that a request asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Aligning:
    """How a family serves an asked alignment (docs/policies.md, Parts); sizes are scaled bytes.

    All blocks lie at multiples of any alignment that divides `anyway`, and of any that divides
    `natural`, if they are as large as that. For another alignment a block that is too large is
    taken, and what is over in front and behind is given back: pieces of `piece` bytes at least,
    which are multiples of `unit`. 0: none is cut.
    """

    anyway: int = 1
    natural: int = 0
    piece: int = 0
    unit: int = 1

    def __str__(self) -> str:
        """Say in a few words which alignments are served, and how."""
        if not self.piece:
            return f"by nature, alignments that divide {self.natural:,} scaled bytes"
        taken = "a larger block is taken, and what is over is given back"
        if self.natural:
            return f"by nature up to {self.natural:,} scaled bytes; above, {taken}"
        return taken
