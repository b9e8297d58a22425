"""Orders in which the live objects at one event are packed from address 0 on.

Objects that begin together, or end together, should be adjacent, because their addresses then form
one gap. No order achieves both everywhere; several orders are therefore tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.bound.timetable import Timetable

Keys = NDArray[np.int64]

LARGE: Final = 1000
"""An object is large if it has more bytes than the peak of live bytes divided by `LARGE`."""


class Order(NamedTuple):
    """A packing order: its name, and a function that returns the lives, the lowest first.

    The function takes a timetable, an event, and the lives that are live after the event.
    """

    words: str
    pack: Callable[[Timetable, int, Keys], Keys]


def oldest(table: Timetable, event: int, lives: Keys) -> Keys:
    """Put the oldest lives lowest: lives are numbered in the order of their births."""
    del table, event
    return lives


def last_to_die(table: Timetable, event: int, lives: Keys) -> Keys:
    """Put the lives that end last lowest."""
    del event
    return _sorted(lives, -table.died[lives])


def longest(table: Timetable, event: int, lives: Keys) -> Keys:
    """Put the longest lives lowest."""
    del event
    return _sorted(lives, table.born[lives] - table.died[lives])


def large_apart(table: Timetable, event: int, lives: Keys) -> Keys:
    """Put large objects above all others; in each group, lives that end last are lowest."""
    del event
    large = table.size[lives] > table.peak // LARGE
    return lives[np.lexsort((-table.died[lives], large))]


def grouped(groups: int, *, by_birth: bool) -> Order:
    """Return the order by groups of equal bytes, by birth or by death, sorted inside by the other.

    Every other group is reversed, so that objects on both sides of a boundary have similar keys.
    """

    def pack(table: Timetable, event: int, lives: Keys) -> Keys:
        del event
        outer, inner = table.born[lives], -table.died[lives]
        if not by_birth:
            outer, inner = inner, outer
        group = _groups(outer, table.size[lives], groups)
        return lives[np.lexsort((np.where(group % 2 == 0, inner, -inner), group))]

    return Order(f"{groups} groups by {'birth' if by_birth else 'death'}", pack)


oldest_lowest: Final = Order("oldest lowest", oldest)
last_to_die_lowest: Final = Order("last to die lowest", last_to_die)

FOREMOST: Final = (
    oldest_lowest,
    last_to_die_lowest,
    Order("longest life lowest", longest),
    Order("large objects on top, last to die lowest", large_apart),
    grouped(64, by_birth=True),
)
"""Orders that reach the lower bound on most programs."""


def all_grouped() -> Iterator[Order]:
    """Yield the grouped orders, from 2 to 128 groups, by birth and by death."""
    for groups in (2, 3, 4, 8, 16, 32, 64, 128):
        yield grouped(groups, by_birth=True)
        yield grouped(groups, by_birth=False)


def _sorted(lives: Keys, key: Keys) -> Keys:
    return lives[np.argsort(key, kind="stable")]


def _groups(key: Keys, size: Keys, groups: int) -> Keys:
    """Return the group of each life, from 0: ascending keys, with equal bytes in each group."""
    order = np.argsort(key, kind="stable")
    before = np.cumsum(size[order]) - size[order]
    group = np.empty(len(key), np.int64)
    group[order] = before * groups // max(int(size.sum()), 1)
    return group
