"""Size and alignment of the block for a request: overhead, and a requested alignment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd


@dataclass(frozen=True)
class Overhead:
    """The overhead of a request, in scaled bytes (docs/policies.md, Parts).

    A request of `n` bytes takes a block of `n + header + footer`, rounded up to a multiple of
    `alignment`, and of at least `minimum`.
    """

    header: int = 0
    footer: int = 0
    alignment: int = 1
    minimum: int = 1

    def at_least(self, minimum: int) -> Overhead:
        """Return the same with a minimum that is not below this one."""
        return replace(self, minimum=max(self.minimum, minimum))


@dataclass(frozen=True)
class Aligning:
    """Rule of a family for requested alignments (docs/policies.md, Parts); sizes are scaled bytes.

    All blocks start at multiples of `guaranteed`. A block of at least an alignment that divides
    `natural_limit` starts at a multiple of that alignment. For any other alignment a larger block
    is taken, and its excess in front and behind is freed: at least `min_remainder` bytes each, a
    multiple of `unit`. If `min_remainder` is 0, nothing is cut off.
    """

    guaranteed: int = 1
    natural_limit: int = 0
    min_remainder: int = 0
    unit: int = 1

    @classmethod
    def by_pages(cls, alignment: int, page: int) -> Aligning:
        """Return the rule of pages: alignment by nature up to a page, above by more pages."""
        return cls(gcd(alignment, page), natural_limit=page, min_remainder=page, unit=page)

    def __str__(self) -> str:
        """Say in a few words which alignments are served, and how."""
        if not self.min_remainder:
            return f"by nature, alignments that divide {self.natural_limit:,} scaled bytes"
        taken = "a larger block is taken, and what is over is given back"
        if self.natural_limit:
            return f"by nature up to {self.natural_limit:,} scaled bytes; above, {taken}"
        return taken
