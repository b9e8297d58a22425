"""Where objects were: the addresses of a run."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap._core import Simulation
from simalloc.heap.moment import check_run
from simalloc.heap.setting import Setting
from simalloc.heap.stepping import parts_of, replay
from simalloc.heap.ways import way_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from numpy.typing import NDArray

    from simalloc.heap import Run
    from simalloc.policy import Policy
    from simalloc.trace import EventSource, Stretch, Trace


def placements_of(trace: Trace, run: Run) -> NDArray[np.int64]:
    """Return the run's addresses (int64, scaled bytes, one an event, -1 for a free).

    Raises `SimallocError` if the run is not the trace's, or was made without `addresses=True`.
    """
    if run.addresses is None:
        raise SimallocError(
            f"the run of {run.trace} under {run.policy.name} kept no addresses; "
            "simulate it with addresses=True"
        )
    check_run(trace, run)
    return run.addresses


class _Placed(NamedTuple):
    """Events with their addresses, as `Passages` takes them."""

    op: NDArray[np.uint8]
    size: NDArray[np.int64]
    slot: NDArray[np.uint32]
    columns: Mapping[str, NDArray[np.int64]]


class PlacedEvents:
    """A trace's events up to one of them with a column `address`, where a run puts the objects.

    A run that kept no addresses is made again, each time the events are gone through. Raises
    `SimallocError` if the run is not the trace's.
    """

    def __init__(self, source: EventSource, run: Run, events: int | None = None) -> None:
        check_run(source, run)
        self._source = source
        self._run = run
        self._events = len(source) if events is None else events

    @property
    def slots(self) -> int:
        """How many objects are live at once at most."""
        return self._source.slots

    def chunks(self) -> Generator[_Placed]:
        """Yield the events from the first on; addresses are int64, in scaled bytes."""
        run, left = self._run, self._events
        setting = Setting.of(self._source, run.policy, run.scale, run.realloc)
        with closing(setting.source.stretches()) as stretches:
            for stretch, address in _placed(setting, run, stretches):
                part = stretch.part(0, left)
                yield _Placed(part.op, part.size, part.slot, {"address": address[:left]})
                left -= len(part.op)
                if left <= 0:
                    break


def _placed(
    setting: Setting, run: Run, stretches: Iterator[Stretch]
) -> Iterator[tuple[Stretch, NDArray[np.int64]]]:
    """Yield each stretch with its addresses."""
    if run.addresses is not None:
        return _cut(stretches, run.addresses)
    way = way_of(setting.policy)
    heap = way.heap_of(setting)
    if isinstance(heap, Simulation):
        return _replayed(heap, setting.policy, stretches)
    addresses = way.run_one(setting, addresses=True).addresses
    assert addresses is not None
    return _cut(stretches, addresses)


def _replayed(
    simulation: Simulation, policy: Policy, stretches: Iterator[Stretch]
) -> Iterator[tuple[Stretch, NDArray[np.int64]]]:
    for stretch in stretches:
        address = np.empty(len(stretch.op), np.int64)
        done = 0
        for part in parts_of(stretch, policy):
            replay(simulation, part, address[done : done + len(part.op)])
            done += len(part.op)
        yield stretch, address


def _cut(
    stretches: Iterator[Stretch], address: NDArray[np.int64]
) -> Iterator[tuple[Stretch, NDArray[np.int64]]]:
    """Yield each stretch with its part of the addresses of all events."""
    done = 0
    for stretch in stretches:
        yield stretch, address[done : done + len(stretch.op)]
        done += len(stretch.op)
