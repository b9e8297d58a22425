"""The address and the state of the heap after each event."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.heap.needed import require_for
from simalloc.heap.running.setting import Setting
from simalloc.heap.running.strides import replay, strides
from simalloc.trace import ReplayedEvents

_FIGURES: Final = 1 << 20
"""Maximum number of figures held in memory at once."""
REFUSED: Final = -2
"""Offset after an event whose request was refused. Other events without an object have -1."""


class Sight(NamedTuple):
    """Consecutive events; every array has one entry per event (int64).

    `region`, `number` and `offset` locate the object in the family's terms
    (`Family.spell_location`). `address` is -1 after events that leave no object. `mapped`,
    `resident` and `largest_free`, the size of the largest free block, are scaled bytes; the last
    two are 0 unless measured. `live` is in program bytes. `figures` has a row per event with the
    allocator's own figures, or an empty row if they were not requested.
    """

    address: NDArray[np.int64]
    mapped: NDArray[np.int64]
    resident: NDArray[np.int64]
    live: NDArray[np.int64]
    largest_free: NDArray[np.int64]
    free_blocks: NDArray[np.int64]
    region: NDArray[np.int64]
    number: NDArray[np.int64]
    offset: NDArray[np.int64]
    figures: NDArray[np.int64]

    @classmethod
    def empty(cls, events: int, figures: int = 0) -> Sight:
        """Return uninitialised arrays for `events` events and this number of figures."""
        columns = {name: np.empty(events, np.int64) for name in cls._fields[:-1]}
        return cls(**columns, figures=np.empty((events, figures), np.int64))


class Watched:
    """A replay that is observed after every event.

    `names` are the names of the figures. Raises as `simulate` does, and `SimallocError` for a
    policy that places objects offline.
    """

    def __init__(
        self,
        setting: Setting,
        *,
        checked: bool = False,
        keeps_mappings: bool = False,
    ) -> None:
        if setting.policy.description.runner == "offline":
            raise SimallocError(f"{setting.policy.name} does not place objects event by event")
        require_for([setting])
        self._setting = setting
        self._in_python = setting.options.engine == "reference"
        self.simulation = setting.simulation(checked=checked, keeps_mappings=keeps_mappings)
        self.names: Sequence[str] = self.simulation.figure_names()

    def sights(self) -> Generator[Sight]:
        """Yield the observations, some events at a time, until the program ends."""
        return self._of_reference() if self._in_python else (sight for _, sight in self.seen())

    def seen(self) -> Generator[tuple[ReplayedEvents, Sight]]:
        """Yield the events with their observations; for the core only."""
        room = max(1, _FIGURES // max(1, len(self.names)))
        with closing(
            strides(self._setting.source, self._setting.columns, self._setting.policy)
        ) as parts:
            for part in parts:
                for start in range(0, len(part.op), room):
                    events = part.part(start, start + room)
                    sight = Sight.empty(len(events.op), len(self.names))
                    columns = sight._asdict()
                    done = replay(self.simulation, events, columns.pop("address"), columns)
                    yield events.part(0, done), Sight(*(column[:done] for column in sight))
                    if done < len(events.op):
                        return

    def resident_after(
        self, counts: NDArray[np.int64], progress: Callable[[int], None] = lambda _: None
    ) -> NDArray[np.int64]:
        """Return the scaled resident bytes after each of these numbers of events; core only.

        Only these events are observed, which is faster than `sights`.
        """
        found = np.zeros(len(counts), np.int64)
        sight = Sight.empty(1)
        columns = sight._asdict()
        address = columns.pop("address")
        done = 0
        with closing(
            strides(self._setting.source, self._setting.columns, self._setting.policy)
        ) as parts:
            for part in parts:
                start, end = 0, len(part.op)
                for place in np.flatnonzero((counts > done) & (counts <= done + end)).tolist():
                    stop = int(counts[place]) - done
                    replay(self.simulation, part.part(start, stop - 1))
                    replay(self.simulation, part.part(stop - 1, stop), address, columns)
                    found[place] = sight.resident[0]
                    start = stop
                replay(self.simulation, part.part(start, end))
                done += end
                progress(end)
        return found

    def _of_reference(self) -> Generator[Sight]:
        from simalloc.heap.reference.replay import watched  # noqa: PLC0415 - rarely needed

        sight = Sight.empty(len(self._setting.source), len(self.names))
        for event, (*seen, location, figures) in enumerate(watched(self._setting)):
            for column, value in zip(sight[:-1], (*seen, *location), strict=True):
                column[event] = value
            sight.figures[event] = [figures[name] for name in self.names]
        yield sight
