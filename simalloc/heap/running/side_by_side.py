"""Replay of a trace by several simulations of the core side by side."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from threading import Condition, Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.heap._core import Simulation
from simalloc.heap.run import Run
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import parts_of, replay, run_of, strides
from simalloc.machine import core_count
from simalloc.policy import UserCode
from simalloc.trace import ReplayedEvents
from simalloc.waiting import completed

WINDOW: Final = 8
"""Maximum number of strides by which one policy may be ahead of another."""


def replay_side_by_side(
    settings: Sequence[Setting],
    *,
    addresses: bool = False,
    progress: Callable[[int], None] | None = None,
) -> list[Run]:
    """Replay a trace under several policies on all cores; Ctrl-C stops them within a stride.

    All policies are replayed side by side in one pass, so that a trace file is read once. With
    `addresses` every object's address is kept. `progress` is called, from any thread, with the
    number of events since its last call.
    """
    lanes = [
        _Lane(
            setting,
            setting.simulation(),
            np.empty(len(setting.source), np.int64) if addresses else None,
        )
        for setting in settings
    ]
    columns = {name for setting in settings for name in setting.columns}
    with closing(strides(settings[0].source, columns)) as events:
        _SideBySide(events, lanes, progress).go()
    return [lane.run() for lane in lanes]


@dataclass(eq=False)
class _Lane:
    """One policy's simulation, and the strides that it has not replayed yet."""

    setting: Setting
    simulation: Simulation
    addresses: NDArray[np.int64] | None
    done: int = 0
    ahead: deque[ReplayedEvents] = field(default_factory=deque)
    busy: bool = False
    seconds: float = 0.0

    @property
    def holds_gil(self) -> bool:
        """True if the policy is written in Python."""
        return isinstance(self.setting.policy.description, UserCode)

    def run(self) -> Run:
        """Return the run so far."""
        return run_of(self.simulation, self.setting, addresses=self.addresses, seconds=self.seconds)

    def advance(self, stopped: Callable[[], bool]) -> int:
        """Replay the next stride, unless stopped before its end; return its number of events."""
        stride = self.ahead[0]
        started = time.perf_counter()
        for part in parts_of(stride, self.setting.policy):
            if stopped():
                break
            reached = self.done + len(part.op)
            room = None if self.addresses is None else self.addresses[self.done : reached]
            replay(self.simulation, part, room)
            self.done = reached
        self.seconds += time.perf_counter() - started
        return len(stride.op)


class _SideBySide:
    """Runs simulations through the same events on all cores.

    Each worker replays a stride of the simulation with the most strides ahead. If no simulation is
    ready, the worker fetches the next stride for all of them. Policies in Python run in the calling
    thread. They hold the GIL, so that more threads would not help, and in the main thread Ctrl-C
    ends even an endless policy.
    """

    def __init__(
        self,
        events: Iterator[ReplayedEvents],
        lanes: Sequence[_Lane],
        progress: Callable[[int], None] | None,
    ) -> None:
        self._events = events
        self._lanes = lanes
        self._progress = progress
        self._changed = Condition()
        self._telling = Lock()
        self._fetching = False
        self._ended = False
        self._stopped = False

    def go(self) -> None:
        """Replay all events; the first error, or Ctrl-C, stops every simulation and is raised."""
        in_python = [lane for lane in self._lanes if lane.holds_gil]
        others = [lane for lane in self._lanes if not lane.holds_gil]
        workers = min(core_count(), len(others))
        with ThreadPoolExecutor(max(workers, 1)) as pool:
            try:  # Ctrl-C may arrive while a thread starts
                waiting = [pool.submit(self._work, others) for _ in range(workers)]
                if in_python:
                    self._work(in_python)
                for worker in completed(waiting):
                    worker.result()
            finally:
                self._stop()

    def _work(self, lanes: Sequence[_Lane]) -> None:
        """Advance these simulations as long as any has strides ahead."""
        try:
            while (lane := self._take(lanes)) is not None:
                done = lane.advance(lambda: self._stopped)
                with self._changed:
                    lane.ahead.popleft()
                    lane.busy = False
                    self._changed.notify_all()
                self._report(done)
        finally:
            self._stop()

    def _report(self, done: int) -> None:
        """Report progress from one thread at a time, because the receiver may be slow."""
        if self._progress is not None:
            with self._telling:
                self._progress(done)

    def _take(self, lanes: Sequence[_Lane]) -> _Lane | None:
        """Return the next simulation to advance, marked as busy, or None at the end."""
        while True:
            with self._changed:
                while not self._stopped:
                    ready = [lane for lane in lanes if lane.ahead and not lane.busy]
                    if ready:
                        lane = max(ready, key=lambda lane: len(lane.ahead))
                        lane.busy = True
                        return lane
                    longest = max(len(lane.ahead) for lane in self._lanes)
                    if self._ended and not longest:
                        return None
                    if not self._ended and not self._fetching and longest < WINDOW:
                        self._fetching = True
                        break
                    self._changed.wait()
                else:
                    return None
            self._fetch()

    def _fetch(self) -> None:
        """Add the next stride to every simulation."""
        stride = next(self._events, None)
        with self._changed:
            self._fetching = False
            self._ended = stride is None
            if stride is not None:
                for lane in self._lanes:
                    lane.ahead.append(stride)
            self._changed.notify_all()

    def _stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
