"""Exact search for the pool sizes that serve every request, on all cores.

A larger pool may fail although a smaller one works; a bisection therefore proves nothing in
general. A size is settled in one of three ways. The first way is a replay at that size. The second
way is a replay at a smaller size, which reports up to which size the allocator's decisions are
identical. The third way is a rule of the allocator that makes every larger pool sufficient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from simalloc.machine import core_count
from simalloc.waiting import completed

NEAR: Final = 1.3
"""`Sizes.near` lists failing sizes up to this multiple of the smallest pool."""
FAR: Final = 2
"""Failing sizes are searched up to this multiple of the smallest pool."""

_STRETCH: Final = 16
"""Initial number of sizes that one thread tries before it takes the next ones."""


class Outcome(NamedTuple):
    """Result of a pool of one size.

    `refused` is the number, from 1, of the first refused event, or 0 if all were served. Every pool
    from the tried size to `same_until` bytes has the same result.
    """

    refused: int
    same_until: int


class Trial(Protocol):
    """An allocator and the traces that it should serve."""

    @property
    def grain(self) -> int:
        """Number of bytes: sizes that round down to the same multiple of it behave alike."""

    @property
    def is_monotone(self) -> bool:
        """True if every pool larger than a sufficient one is sufficient."""

    def __call__(self, capacity: int) -> Outcome:
        """Return the result of a pool of `capacity` bytes."""


@dataclass(frozen=True)
class Sizes:
    """The pool sizes that serve every request, as multiples of the `grain`.

    `failing` contains all larger sizes, up to twice the smallest, at which a request is refused.
    `trials` is the number of replays. `is_proven` is true if no larger size fails at all, by the
    allocator's rules.
    """

    smallest: int
    failing: tuple[int, ...]
    grain: int
    trials: int
    is_proven: bool

    @property
    def safe(self) -> int:
        """Smallest size from which no size up to twice the smallest pool fails."""
        return self.failing[-1] + self.grain if self.failing else self.smallest

    @property
    def near(self) -> tuple[int, ...]:
        """Failing sizes up to 1.3 times the smallest."""
        return tuple(size for size in self.failing if size <= NEAR * self.smallest)


class _Stretch(NamedTuple):
    """Consecutive sizes that one thread has settled.

    `served` is the first size that works, if such a size was searched for and found. `failing`
    contains the sizes that fail. The result of each size up to `settled` is known. `settled` may be
    beyond the last size of the stretch; all sizes between the two then work.
    """

    served: int | None
    failing: list[int]
    settled: int
    trials: int


def find_sizes(
    trial: Trial,
    low: int,
    high: int,
    advance: Callable[[float], None] = lambda _: None,
    guess: int | None = None,
) -> Sizes | None:
    """Return the sizes that serve every request, or None if none from `low` to `high` bytes does.

    `advance` is called with the share of the work done since its last call. `guess` is a size that
    may be the smallest. If the guess is right and the trial is monotone, it saves replays.
    """
    with _searching(trial) as search:
        smallest = (
            search.bisect(low, high, guess) if trial.is_monotone else search.scan_for(low, high)
        )
        advance(0.3)
        if smallest is None:
            return None
        if trial.is_monotone:
            return Sizes(smallest, (), trial.grain, search.trials, is_proven=True)
        failing = search.scan_all(smallest, FAR * smallest, lambda share: advance(0.7 * share))
        return Sizes(smallest, tuple(failing), trial.grain, search.trials, is_proven=False)


@contextmanager
def _searching(trial: Trial) -> Iterator[_Search]:
    with ThreadPoolExecutor(core_count()) as pool:
        search = _Search(trial, pool)
        try:
            yield search
        finally:
            search.stopped = True


class _Search:
    """A search that tries sizes in several threads.

    Once `stopped`, each thread ends after its replay.
    """

    def __init__(self, trial: Trial, pool: ThreadPoolExecutor) -> None:
        self._trial = trial
        self._pool = pool
        self.stopped = False
        self.trials = 0

    def bisect(self, low: int, high: int, guess: int | None = None) -> int | None:
        """Return the smallest size that works, given that every larger size also works."""
        grain = self._trial.grain
        if guess is not None and low <= guess <= high:
            guess = -(-guess // grain) * grain
            if not self._refuses(guess) and self._refuses(guess - grain):
                return guess
        fails, works = low // grain - 1, -(-low // grain)
        while self._refuses(works * grain):
            if works * grain >= high:
                return None
            fails, works = works, min(2 * works, -(-high // grain))
        while works - fails > 1:
            middle = (fails + works) // 2
            if self._refuses(middle * grain):
                fails = middle
            else:
                works = middle
        return works * grain

    def scan_for(self, low: int, high: int) -> int | None:
        """Return the smallest size that works, by trying each from `low` on."""
        at, length = -(-low // self._trial.grain), _STRETCH
        last = high // self._trial.grain
        while at <= last:
            parts = _parts(at, last, length)
            found = self._stretches(parts, until_served=True)
            served = [each.served for each in found if each.served is not None]
            if served:
                return min(served)
            at = parts[-1][1] + 1
            length *= _longer(found)
        return None

    def scan_all(self, low: int, high: int, advance: Callable[[float], None]) -> list[int]:
        """Return the failing sizes from `low` to `high`."""
        grain, failing = self._trial.grain, list[int]()
        at, last, length = low // grain, high // grain, _STRETCH
        total = last - at + 1
        while at <= last:
            parts = _parts(at, last, length)
            found = self._stretches(parts, until_served=False)
            failing += [size for each in found for size in each.failing]
            settled = max(each.settled for each in found) // grain
            advance((min(settled, last) + 1 - at) / total)
            at = settled + 1
            length *= _longer(found)
        return failing

    def _refuses(self, capacity: int) -> bool:
        self.trials += 1
        return self._trial(capacity).refused > 0

    def _stretches(self, parts: Iterable[tuple[int, int]], *, until_served: bool) -> list[_Stretch]:
        """Settle stretches of sizes, given by their first and last multiple of the grain."""
        waiting = [self._pool.submit(self._stretch, low, high, until_served) for low, high in parts]
        for each in completed(waiting):
            each.result()
        found = [each.result() for each in waiting]
        self.trials += sum(each.trials for each in found)
        return found

    def _stretch(self, low: int, high: int, until_served: bool) -> _Stretch:  # noqa: FBT001 - for submit
        grain, failing, trials = self._trial.grain, list[int](), 0
        at = low
        while at <= high and not self.stopped:
            outcome = self._trial(at * grain)
            trials += 1
            beyond = max(outcome.same_until // grain, at) + 1
            if outcome.refused:
                beyond = min(beyond, high + 1)
                failing += [each * grain for each in range(at, beyond)]
            elif until_served:
                return _Stretch(at * grain, failing, at * grain, trials)
            at = beyond
        return _Stretch(None, failing, (at - 1) * grain, trials)


def _parts(at: int, last: int, length: int) -> list[tuple[int, int]]:
    """Return stretches from `at` to at most `last`, two for each core."""
    starts = range(at, min(at + 2 * core_count() * length, last + 1), length)
    return [(start, min(start + length - 1, last)) for start in starts]


def _longer(found: Sequence[_Stretch]) -> int:
    """Return the growth factor of stretches: 2 if these needed few replays, else 1."""
    return 2 if sum(each.trials for each in found) < _STRETCH * len(found) // 2 else 1
