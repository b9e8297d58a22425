"""What an allocator adds to every request: headers, footers, alignment, a minimum."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Overhead:
    """How a request becomes the size of a block, in scaled bytes (docs/policies.md, Parts).

    A request of `n` bytes takes a block of `n + header + footer`, rounded up to a multiple of
    `alignment`, and of `minimum` at least.
    """

    header: int = 0
    footer: int = 0
    alignment: int = 1
    minimum: int = 1

    def at_least(self, minimum: int) -> Overhead:
        """Return the same with a minimum that is not below this one."""
        return replace(self, minimum=max(self.minimum, minimum))
