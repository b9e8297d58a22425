"""Block size for a request."""

from __future__ import annotations

from simalloc.policy import Overhead


def gross_size(size: int, overhead: Overhead) -> int:
    """Return the block size that a request of `size` scaled bytes needs.

    docs/policies.md, Parts: Overhead.
    """
    whole = size + overhead.header + overhead.footer
    return max(overhead.minimum, round_up(whole, overhead.alignment))


def round_up(size: int, unit: int) -> int:
    """Return the smallest multiple of `unit` that is at least `size`."""
    return -(-size // unit) * unit
