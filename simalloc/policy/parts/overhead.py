"""Size and alignment of the block for a request: overhead, and requested alignment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd


@dataclass(frozen=True)
class Overhead:
    """Overhead of a request, in scaled bytes (docs/policies.md, Parts).

    The block for a request of `n` bytes has `n + header + footer` bytes, rounded up to a multiple
    of `alignment`, and at least `minimum` bytes.
    """

    header: int = 0
    footer: int = 0
    alignment: int = 1
    minimum: int = 1

    def at_least(self, minimum: int) -> Overhead:
        """Return the same overhead with at least this minimum."""
        return replace(self, minimum=max(self.minimum, minimum))


@dataclass(frozen=True)
class Aligning:
    """Rule of a family for requested alignments (docs/policies.md, Parts); sizes are scaled bytes.

    All blocks start at multiples of `guaranteed`. A block of at least an alignment that divides
    `natural_limit` starts at a multiple of that alignment. For any other alignment a larger block
    is taken, and its excess in front and behind is freed. Each freed part has at least
    `min_remainder` bytes and is a multiple of `unit`. If `min_remainder` is 0, blocks are not cut.
    """

    guaranteed: int = 1
    natural_limit: int = 0
    min_remainder: int = 0
    unit: int = 1

    @classmethod
    def by_pages(cls, alignment: int, page: int) -> Aligning:
        """Return the rule of pages: natural up to a page; above, extra pages are taken."""
        return cls(gcd(alignment, page), natural_limit=page, min_remainder=page, unit=page)

    def __str__(self) -> str:
        """Describe briefly which alignments are served, and how."""
        natural = "a block of at least the alignment's size is allocated"
        if not self.min_remainder:
            return f"{natural}; the alignment must divide {self.natural_limit:,} scaled bytes"
        taken = "a larger block is allocated, and its excess is freed"
        if self.natural_limit:
            return f"up to {self.natural_limit:,} scaled bytes, {natural}; above that, {taken}"
        return taken
