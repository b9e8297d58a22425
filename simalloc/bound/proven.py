"""Proven worst cases of heap sizes, from the literature.

A program has at most M = `live` live bytes, in objects of `smallest` to `largest` bytes; n is
`largest / smallest`. All figures are bytes. `simalloc.adversary` has programs that approach the
worst cases.
"""

from __future__ import annotations

from math import log2


def robson_bound(live: float, largest: float, smallest: float = 1) -> float:
    """Return the worst case of the best policy: M (log2(n) / 2 + 1) - n + 1, times `smallest`.

    Source: Robson 1974, for sizes that are `smallest` times a power of two; restated by Cohen and
    Petrank 2013. Every policy can be forced to need this size, and a policy exists that never needs
    more. If n is not a power of two, the next lower power is used. Raises `ValueError` unless 0 <
    `smallest` <= `largest` <= `live`.
    """
    _check(live, largest, smallest)
    doublings = int(log2(largest / smallest))
    return live * (doublings / 2 + 1) - smallest * ((1 << doublings) - 1)


def first_fit_bound(live: float, largest: float, smallest: float = 1) -> float:
    """Return the approximate worst case of first fit in address order: M log2(n).

    Source: Robson 1977, as stated by Bohra & Gabber 2001 (5.3). Raises `ValueError` unless 0 <
    `smallest` <= `largest` <= `live`.
    """
    _check(live, largest, smallest)
    return live * log2(largest / smallest)


def best_fit_bound(live: float, largest: float, smallest: float = 1) -> float:
    """Return the approximate worst case of best fit: M n.

    Source: Robson 1977, as stated by Bohra & Gabber 2001 (5.3). Raises `ValueError` unless 0 <
    `smallest` <= `largest` <= `live`.
    """
    _check(live, largest, smallest)
    return live * largest / smallest


def buddy_bound(live: float, largest: float, smallest: float = 1) -> float:
    """Return the approximate worst case of a binary buddy: M (1 + log2(n)).

    Each of the 1 + log2(n) block sizes may once have held all live bytes, and a block in use
    prevents merging. Raises `ValueError` unless 0 < `smallest` <= `largest` <= `live`.
    """
    _check(live, largest, smallest)
    return live * (1 + log2(largest / smallest))


def _check(live: float, largest: float, smallest: float) -> None:
    if not 0 < smallest <= largest <= live:
        raise ValueError(
            f"smallest is {smallest}, largest is {largest} and live is {live}; they must "
            "satisfy 0 < smallest <= largest <= live"
        )
