"""Where objects were: the addresses of a run, and what was live at one event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simalloc.errors import SimallocError
from simalloc.trace import Op

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simalloc.heap import Run
    from simalloc.trace import Trace


@dataclass(frozen=True, eq=False)
class Placed:
    """The objects that are live after an event, by address; every array has one entry an object."""

    event: int
    object: NDArray[np.int64]
    address: NDArray[np.float64]
    """Bytes of the program, as are the sizes."""
    size: NDArray[np.int64]
    """Bytes requested."""
    since: NDArray[np.int64]
    """The event that put the object here: its malloc or its last realloc."""


def placements_of(trace: Trace, run: Run) -> NDArray[np.int64]:
    """Return the run's addresses (int64, scaled bytes, one an event, -1 for a free).

    Raises `SimallocError` if the run is not the trace's, or was made without `addresses=True`.
    """
    if run.addresses is None:
        raise SimallocError(
            f"the run of {run.trace} under {run.policy.name} kept no addresses; "
            "simulate it with addresses=True"
        )
    if len(run.addresses) != len(trace):
        raise SimallocError(
            f"the run has {len(run.addresses)} events and trace {trace.name} {len(trace)}: "
            "it is another trace's"
        )
    return run.addresses


def placed_at(trace: Trace, run: Run, event: int) -> Placed:
    """Return what is live after an event. Raises as `placements_of` does."""
    addresses = placements_of(trace, run)
    if not -1 <= event < len(trace):
        raise SimallocError(f"there is no event {event} in {trace.name}; it has {len(trace)}")
    latest = np.full(trace.slots, -1, np.int64)
    latest[trace.slot[: event + 1]] = np.arange(event + 1)  # the last event of each slot stays
    latest = latest[latest >= 0]
    latest = latest[trace.op[latest] != Op.FREE]
    latest = latest[np.argsort(addresses[latest])]
    return Placed(
        event=event,
        object=trace.object[latest],
        address=addresses[latest] / run.scale,
        size=trace.size[latest],
        since=latest,
    )
