"""A program that observes addresses: each event is replayed as soon as it is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.heap.run_options import Realloc, RunOptions
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import parts_of, replay
from simalloc.policy import AnyPolicy
from simalloc.trace import Op, ReplayedEvents, Trace
from simalloc.trace.shapes import empty_spans

_NOTHING: Final = Trace.from_events([], [], [], name="adversary")
_EVENTS: Final = 1 << 40
"""Upper bound of the number of events in a game."""


class Placed(NamedTuple):
    """Objects with their sizes (bytes) and addresses; int64 arrays."""

    number: NDArray[np.int64]
    size: NDArray[np.int64]
    address: NDArray[np.int64]

    def where(self, chosen: NDArray[np.bool_]) -> Placed:
        """Return the chosen objects."""
        return Placed(*(column[chosen] for column in self))

    def by_address(self) -> Placed:
        """Return the objects in ascending order of address."""
        order = np.argsort(self.address, kind="stable")
        return Placed(*(column[order] for column in self))

    def with_more(self, more: Placed) -> Placed:
        """Return these objects followed by others."""
        return Placed(*(np.concatenate(both) for both in zip(self, more, strict=True)))


class Game:
    """A heap under a policy, and the events that a program has chosen for it so far.

    Sizes and addresses are the program's bytes; the policy sees them multiplied by `scale`.
    `engine` has the same meaning as in `simulate`.
    """

    def __init__(
        self,
        policy: AnyPolicy,
        *,
        scale: int | None = None,
        engine: str = "core",
        progress: Callable[[int], None] | None = None,
    ) -> None:
        asked = RunOptions(scale=scale, realloc=Realloc.FREE_FIRST, engine=engine)
        self.setting = Setting.of(_NOTHING, policy, asked)
        if self.setting.policy.description.runner == "offline":
            raise SimallocError(
                f"{policy} needs the whole trace in advance, so no adversary can play against "
                "it; choose an online policy"
            )
        self.live = 0
        self._heap = _Core(self.setting) if engine != "reference" else _Plain(self.setting)
        self._progress = progress
        self._objects = 0
        self._size = np.empty(0, np.int64)
        self._parts: list[tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]] = []

    @property
    def peak_heap_bytes(self) -> float:
        """Maximum size of the heap after an event, in bytes."""
        return self._heap.peak / self.setting.scale

    def allocate(self, size: NDArray[np.int64]) -> Placed:
        """Allocate an object of each size in turn, and return the objects with their addresses."""
        number = np.arange(self._objects, self._objects + len(size))
        address = self.play(np.full(len(size), Op.MALLOC, np.uint8), number, size)
        return Placed(number, size, address)

    def free(self, placed: Placed) -> None:
        """Free objects in their order."""
        nothing = np.zeros(len(placed.number), np.int64)
        self.play(np.full(len(nothing), Op.FREE, np.uint8), placed.number, nothing)

    def play(
        self, op: NDArray[np.uint8], number: NDArray[np.int64], size: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Replay events and return the addresses, -1 for a free.

        New objects have the next numbers, in the order of their allocations.
        """
        born = op == Op.MALLOC
        self._objects += int(np.count_nonzero(born))
        if self._objects > len(self._size):
            grown = np.empty(2 * self._objects, np.int64)
            grown[: len(self._size)] = self._size
            self._size = grown
        self._size[number[born]] = size[born]
        live = self.live + np.cumsum(np.where(born, size, -self._size[number]))
        events = ReplayedEvents(op, size, number.astype(np.uint32), live, empty_spans(0))
        address = np.empty(len(op), np.int64)
        done = 0
        for part in parts_of(events, self.setting.policy):
            reached = done + len(part.op)
            self._heap.replay(part, address[done:reached])
            if self._progress is not None:
                self._progress(reached - done)
            done = reached
        address[born] //= self.setting.scale
        self.live = int(live[-1]) if len(live) else self.live
        self._parts.append((op, number, size))
        return address

    def trace(self, name: str, provenance: Mapping[str, object]) -> Trace:
        """Return the requests so far as a trace, which can be run under every policy."""
        empty = (np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64))
        op, number, size = (np.concatenate(part) for part in zip(empty, *self._parts, strict=True))
        return Trace.from_events(op, number, size, name=name, provenance=provenance)


class _Core:
    """The heap of the C core."""

    def __init__(self, setting: Setting) -> None:
        self._simulation = setting.simulation(events=_EVENTS)

    @property
    def peak(self) -> int:
        return int(self._simulation.figures()["mapped"]["peak"])

    def replay(self, events: ReplayedEvents, address: NDArray[np.int64]) -> None:
        replay(self._simulation, events, address)


class _Plain:
    """The heap of the reference engine."""

    def __init__(self, setting: Setting) -> None:
        from simalloc.heap.reference.heap import Request  # noqa: PLC0415 - rarely needed
        from simalloc.heap.reference.replay import Objects  # noqa: PLC0415 - rarely needed

        self._objects = Objects(setting)
        self._objects.heap.trace = _NOTHING
        self._request = Request
        self._event = 0
        self.peak = 0

    def replay(self, events: ReplayedEvents, address: NDArray[np.int64]) -> None:
        columns = (events.op.tolist(), events.slot.tolist(), events.size.tolist())
        for place, event in enumerate(zip(*columns, strict=True)):
            self._objects.heap.event = self._event
            self._event += 1
            op, number, size = event
            address[place] = self._objects.carry_out(op, number, self._request(size))
            self.peak = max(self.peak, self._objects.heap.blocks.mapped)
