"""jemalloc's purging of pages over time, and its random numbers."""

from __future__ import annotations

from math import log
from typing import Final

_STEPS: Final = 200
"""Number of intervals in a decay time."""
_TICKS: Final = 1000
"""Mean number of ticks between two checks of the clock."""


def _smooth(step: int) -> int:
    """Return the share of pages that stay after a step, times 2**24: 6x^5 - 15x^4 + 10x^3."""
    x = step + 1
    numerator = 6 * x**5 - 15 * x**4 * _STEPS + 10 * x**3 * _STEPS**2
    return (numerator << 24) // _STEPS**5


_SHARES: Final = tuple(_smooth(step) for step in range(_STEPS))
_WAITS: Final = tuple(round(61 * log(64 / (number + 1))) for number in range(64))


class Random:
    """A linear congruential generator of 64 bits that returns the highest bits."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def bits(self, count: int) -> int:
        """Return the next number of `count` bits."""
        multiplied = self._state * 6364136223846793005 + 1442695040888963407
        self._state = multiplied & ((1 << 64) - 1)
        return self._state >> (64 - count)

    def below(self, limit: int) -> int:
        """Return a number below `limit`; larger numbers are drawn again."""
        count = (limit - 1).bit_length()
        if count == 0:
            return 0
        while (number := self.bits(count)) >= limit:
            pass
        return number


class Ticker:
    """A thread's countdown to its next check of the clock."""

    def __init__(self) -> None:
        self._left = _TICKS

    def count(self, ticks: int, random: Random) -> bool:
        """Count ticks; return whether the clock is to be checked."""
        if ticks <= self._left:
            self._left -= ticks
            return False
        self._left = _TICKS * _WAITS[random.bits(6)] // 61
        return True


class Decay:
    """Maximum number of an arena's dirty or muzzy pages (`limit`), which decays over time."""

    def __init__(self, milliseconds: int, seed: int, now: int) -> None:
        self.milliseconds = milliseconds
        self._random = Random(seed)
        self._interval = milliseconds * 1_000_000 // _STEPS
        self._backlog = [0] * _STEPS
        self._unpurged = 0
        self.limit = 0
        self._epoch = now
        self.deadline = 0
        if milliseconds > 0:
            self._set_deadline()

    def advance(self, now: int, pages: int) -> bool:
        """Advance to `now`; return whether an interval ended. `limit` then has a new value."""
        if now < self.deadline:
            return False
        intervals = (now - self._epoch) // self._interval
        self._epoch += intervals * self._interval
        self._set_deadline()
        passed = min(intervals, _STEPS)
        self._backlog = self._backlog[passed:] + [0] * passed
        self._backlog[-1] = max(0, pages - self._unpurged)
        shares = zip(self._backlog, _SHARES, strict=True)
        self.limit = sum(pages * share for pages, share in shares) >> 24
        self._unpurged = max(self.limit, pages)
        return True

    def _set_deadline(self) -> None:
        self.deadline = self._epoch + self._interval + self._random.below(self._interval)
