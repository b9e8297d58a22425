"""The control structure of TLSF and its derivatives."""

from __future__ import annotations

from typing import Final

SMALLEST_BLOCK: Final = 3
"""Minimum contents of a block in words: two list links, and the block's address."""


def control_bytes(word: int, doublings: int, division: int) -> int:
    """Return the bytes of bitmaps and heads: `2**division` lists for each of the doublings."""
    bitmaps = 4 + 4 * doublings
    return 4 * word + -(-bitmaps // word) * word + doublings * (word << division)


def block_bytes(word: int, size: int) -> int:
    """Return the smallest block size for `size` bytes: whole words behind a header."""
    return word + max(SMALLEST_BLOCK * word, -(-size // word) * word)


def core_parameters(*, control: int, top: int, division: int = 5) -> dict[str, int | str]:
    """Return the core's parameters of a TLSF in a pool, as in Conte's TLSF.

    `control` is the number of bytes in front of the first block, and every block is smaller than
    `top` bytes.
    """
    return {
        "control": control,
        "division": division,
        "top": top,
        "second": 0,
        "wraps": True,
        "cuts_to_class": False,
        "aligns": True,
        "node": 0,
        "has_zero": False,
    }
