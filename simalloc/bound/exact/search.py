"""The minimum height of buffers, by exact searches for a sequence of capacities."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from simalloc.bound.exact.buffers import Buffers, Ints
from simalloc.bound.exact.engine import Fit, Outcome, fit
from simalloc.bound.exact.ranks import Ranks
from simalloc.bound.exact.solver import Solver, is_installed

NODES: Final = 500
"""Nodes of the shortest search, in addition to one node for each buffer."""

ROUND: Final = 16
"""Length of the first round's search for the lowest capacity, in units of the shortest search."""

FOR_OTHERS: Final = 4
"""Every other capacity gets the lowest capacity's share divided by `FOR_OTHERS`."""

ALONE: Final = 0.5
"""Delay in seconds before the solver starts; most searches end earlier."""

FIRST_STEP: Final = 16
"""The first step below a height is the distance to the lower bound divided by `FIRST_STEP`."""


@dataclass(frozen=True)
class Effort:
    """Limits of a search: seconds of wall-clock time, and nodes of the exact search.

    If `takes_help` is true, an installed solver runs in parallel (`exact/solver.py`). Without help
    and with only a limit of nodes, the result is deterministic.
    """

    seconds: float = 10.0
    nodes: int = 1 << 62
    takes_help: bool = True


@dataclass(frozen=True)
class Minimum:
    """A placement (`address`, int64, bytes), and a proven lower bound of the height.

    `stopped` is true if Ctrl-C ended the search. `helped` is true if the solver found the placement
    or a placement that our own search started from.
    """

    address: Ints
    lower: int
    nodes: int
    searches: int
    stopped: bool
    helped: bool = False


def minimise(
    buffers: Buffers,
    address: Ints,
    *,
    lower: int = 0,
    target: int | None = None,
    effort: Effort | None = None,
    progress: Callable[[float], None] = lambda _: None,
    fit: Fit = fit,
) -> Minimum:
    """Lower the height of a placement until it is the minimum or the effort is spent.

    `lower` is a proven lower bound in bytes. With a `target` (bytes), the search ends with a
    placement of at most this height, or with a proof that such a placement does not exist.
    `progress` is called with the share of the effort spent so far.
    """
    search = _Search(buffers, address, lower, target, effort or Effort(), progress, fit)
    try:
        if target is None:
            search.go()
        else:
            search.reach(target)
        stopped = False
    except KeyboardInterrupt:
        stopped = True
    finally:
        search.close()
    return Minimum(
        search.address, search.lower, search.nodes, search.searches, stopped, search.helped
    )


class _Search:
    """A search in progress; `lower` and `height` enclose the minimum."""

    def __init__(
        self,
        buffers: Buffers,
        address: Ints,
        lower: int,
        target: int | None,
        effort: Effort,
        progress: Callable[[float], None],
        fit: Fit,
    ) -> None:
        self.address = address.copy()
        self.lower = max(lower, buffers.bound())
        self.nodes = 0
        self.searches = 0
        self.helped = False
        self._started = time.monotonic()
        self._effort = effort
        self._target = target
        self._solver: Solver | None = None
        self._may_start = effort.takes_help and is_installed()
        self._progress = progress
        self._fit = fit
        self._unit = buffers.unit
        self._buffers = buffers
        self._parts = [_Part(buffers, numbers) for numbers in buffers.parts()]

    @property
    def height(self) -> int:
        """The height of the best placement so far."""
        return self._buffers.height(self.address)

    def go(self) -> None:
        """Search for the minimum in rounds. Each round has twice the nodes of the previous one."""
        share = ROUND
        while self.lower < self.height and not self._is_spent():
            if self._attempt(self.lower, share) is Outcome.UNDECIDED:
                self._descend(max(share // FOR_OTHERS, 1))
            share *= 2

    def reach(self, target: int) -> None:
        """Search for a placement of at most `target` bytes, or for a proof that none exists."""
        share = ROUND
        while self.lower <= target < self.height and not self._is_spent():
            self._attempt(target, share)
            share *= 2

    def _descend(self, share: int) -> None:
        """Try capacities below the height.

        The step doubles after a success and halves after a failure.
        """
        step = max((self.height - self.lower) // self._unit // FIRST_STEP, 1)
        while step and self.lower < self.height and not self._is_spent():
            capacity = max(self.height - step * self._unit, self.lower)
            step = 2 * step if self._attempt(capacity, share) is Outcome.FITS else step // 2

    def _attempt(self, capacity: int, share: int) -> Outcome:
        """Fit all parts into a capacity, each with at most `share` times the shortest search."""
        for part in self._parts:
            if part.height(self.address) > capacity:
                outcome = self._attempt_part(part, capacity, share)
                if outcome is not Outcome.FITS:
                    return outcome
        return Outcome.FITS

    def _attempt_part(self, part: _Part, capacity: int, share: int) -> Outcome:
        for times in part.restarts(share):
            if self._is_spent():
                break
            self._take_help()
            if self.lower > capacity:
                return Outcome.REFUTED
            if part.height(self.address) <= capacity:
                return Outcome.FITS
            left = self._effort.seconds - (time.monotonic() - self._started)
            nodes = min(times * (NODES + len(part.buffers)), self._effort.nodes - self.nodes)
            searched = self._fit(
                part.buffers, part.ranks.next(), capacity, nodes, left, self._is_undisturbed
            )
            self.nodes += searched.nodes
            self.searches += 1
            part.ranks.learn(searched.failures)
            if searched.outcome is Outcome.FITS:
                self.address[part.numbers] = searched.address
            elif searched.outcome is Outcome.REFUTED:
                self.lower = max(self.lower, capacity // self._unit * self._unit + self._unit)
            if searched.outcome is not Outcome.UNDECIDED:
                return searched.outcome
        return Outcome.UNDECIDED

    def close(self) -> None:
        """End the solver's process, if it was started."""
        if self._solver is not None:
            self._solver.close()

    def _is_undisturbed(self) -> bool:
        """Return whether a search may continue: the solver is not due and has no new findings."""
        if self._solver is None:
            return not (self._may_start and time.monotonic() - self._started >= ALONE)
        return not self._solver.has_findings

    def _take_help(self) -> None:
        """Start the solver after `ALONE` seconds, and accept its findings."""
        spent = time.monotonic() - self._started
        if self._solver is None and self._may_start and spent >= ALONE:
            left = self._effort.seconds - spent
            self._may_start = False
            self._solver = Solver(self._buffers, self.lower, self.height, self._target, left)
        if self._solver is not None:
            for address, lower in self._solver.findings():
                if address is not None and self._buffers.height(address) < self.height:
                    self.address[:] = address
                    self.helped = True
                self.lower = max(self.lower, lower or 0)

    def _is_spent(self) -> bool:
        spent = max(
            (time.monotonic() - self._started) / self._effort.seconds,
            self.nodes / self._effort.nodes,
        )
        self._progress(min(spent, 1.0))
        return spent >= 1


class _Part:
    """Buffers that share no section with the other buffers."""

    def __init__(self, buffers: Buffers, numbers: Ints) -> None:
        self.numbers = numbers
        self.buffers = buffers.of_numbers(numbers)
        self.ranks = Ranks(self.buffers)
        self._lengths = luby()

    def height(self, address: Ints) -> int:
        """Return the height of these buffers in a placement of all buffers."""
        return self.buffers.height(address[self.numbers])

    def restarts(self, share: int) -> Iterator[int]:
        """Yield the lengths of further searches until their sum is at least `share`.

        Lengths and `share` are multiples of the shortest search.
        """
        while share > 0:
            length = next(self._lengths)
            yield length
            share -= length


def luby() -> Iterator[int]:
    """Yield 1, 1, 2, 1, 1, 2, 4, ...: restart lengths that suit any distribution of durations.

    Luby, Sinclair and Zuckerman, "Optimal speedup of Las Vegas algorithms" (1993).
    """
    number, power = 1, 1
    while True:
        yield power
        if number & -number == power:
            number, power = number + 1, 1
        else:
            power *= 2
