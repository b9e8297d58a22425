"""The proven worst cases of heap sizes, as the literature states them.

A program keeps at most `live` bytes live (M), in objects of `smallest` to `largest` bytes; n is the
ratio of the two. All figures are bytes. `simalloc.adversary` has programs that approach them.
"""

from __future__ import annotations

from math import log2


def robson_bound(live: float, largest: float, smallest: float = 1) -> float:
    """Return the worst case of every policy: M (log2(n) / 2 + 1) - n + 1, times `smallest`.

    Robson 1974, for sizes of the smallest times a power of two; a policy that never needs more also
    exists. Restated by Cohen and Petrank 2013. If n is not a power of two, the next lower power is
    used. Raises `ValueError` unless 0 < `smallest` <= `largest` <= `live`.
    """
    _check(live, largest, smallest)
    doublings = int(log2(largest / smallest))
    return live * (doublings / 2 + 1) - smallest * ((1 << doublings) - 1)


def first_fit_bound(live: float, largest: float, smallest: float = 1) -> float:
    """Return about what first fit in address order can be made to need: M log2(n).

    Robson 1977, as Bohra & Gabber 2001 state it (5.3). Raises `ValueError` as `robson_bound`
    does.
    """
    _check(live, largest, smallest)
    return live * log2(largest / smallest)


def best_fit_bound(live: float, largest: float, smallest: float = 1) -> float:
    """Return about what best fit can be made to need: M n.

    Robson 1977, as Bohra & Gabber 2001 state it (5.3). Raises `ValueError` as `robson_bound`
    does.
    """
    _check(live, largest, smallest)
    return live * largest / smallest


def buddy_bound(live: float, largest: float, smallest: float = 1) -> float:
    """Return the approximate worst case of a binary buddy: M (1 + log2(n)).

    Each of the 1 + log2(n) sizes of blocks may once have held all live bytes, and a block in use
    keeps its place from being merged. Raises `ValueError` as `robson_bound` does.
    """
    _check(live, largest, smallest)
    return live * (1 + log2(largest / smallest))


def _check(live: float, largest: float, smallest: float) -> None:
    if not 0 < smallest <= largest <= live:
        raise ValueError(
            f"smallest {smallest}, largest {largest} and live {live} bytes: "
            "each takes at least the one before, and the first more than 0"
        )
