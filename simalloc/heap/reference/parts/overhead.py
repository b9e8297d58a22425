"""The size of a block for a request."""

from __future__ import annotations

from simalloc.policy import Overhead


def gross_size(size: int, overhead: Overhead) -> int:
    """Return the bytes that a block has to have for a request of `size` scaled bytes.

    docs/policies.md, Parts: Overhead.
    """
    whole = size + overhead.header + overhead.footer
    return max(overhead.minimum, round_up(whole, overhead.alignment))


def round_up(size: int, unit: int) -> int:
    """Return the smallest multiple of `unit` that is not below `size`."""
    return -(-size // unit) * unit
