"""Scudo's random numbers: a xorshift generator of 32 bits (policy/families/scudo.md)."""

from __future__ import annotations

from typing import TypeVar

_Item = TypeVar("_Item")


class Generator:
    """A sequence of numbers determined by a seed."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def next(self) -> int:
        """Return the next state."""
        state = self.state
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
        self.state = state
        return state

    def draw(self, limit: int) -> int:
        """Return a number from 0 to below `limit`."""
        return self.next() % limit

    def shuffle(self, items: list[_Item]) -> None:
        """Put the items in a random order."""
        for place in range(len(items) - 1, 0, -1):
            other = self.draw(place + 1)
            items[place], items[other] = items[other], items[place]
