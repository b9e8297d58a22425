"""Device allocators in C: what the core is given, and what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from simalloc.errors import SimallocError
from simalloc.heap._device import Device as Simulation
from simalloc.heap.device_figures import DeviceFigures, DeviceReplay, own_figures
from simalloc.heap.run import Realloc
from simalloc.policy.device import Bfc, Device, Extend, OrtArena, PyTorch, RmmPool

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from simalloc.trace.trace import Trace

_STRIDE: Final = 1 << 18
"""Events carried out between two looks at progress and Ctrl-C."""
_NO_LIMIT: Final = 2**63 - 1
_SMALL_POOL: Final = 1 << 8
_STATES: Final = 5
_COUNTS: Final = ("splits", "coalescings", "coalescing_frees")


def replay_in_core(
    trace: Trace,
    description: Device,
    realloc: Realloc = Realloc.FREE_FIRST,
    *,
    checked: bool = False,
    goes_on: bool = False,
    progress: Callable[[int], None] | None = None,
) -> DeviceReplay:
    """Carry out the events of a trace, up to the first request that cannot be served.

    If it `goes_on`, such a request is left out with all that is told of its object.
    """
    states = np.empty((_STATES, len(trace)), np.int64)
    simulation, done = _replayed(
        trace, description, realloc, states, checked=checked, goes_on=goes_on, progress=progress
    )
    figures = simulation.figures()
    counts = {name: figures.pop(name) for name in _COUNTS}
    address, live, reserved, allocated, free_blocks = states[:, :done]
    return DeviceReplay(
        address,
        live,
        reserved,
        allocated,
        free_blocks,
        DeviceFigures(**figures, memory_stats=_own(simulation, description)),
        calls=np.frombuffer(simulation.calls(), np.int64).reshape(-1, 3),
        **counts,
    )


def figures_in_core(
    trace: Trace,
    description: Device,
    realloc: Realloc = Realloc.FREE_FIRST,
    *,
    goes_on: bool = False,
) -> DeviceFigures:
    """Return the figures alone, which takes less time; see `replay_in_core`."""
    simulation = _replayed(trace, description, realloc, None, goes_on=goes_on)[0]
    figures = simulation.figures()
    given = {name: figures[name] for name in figures if name not in _COUNTS}
    return DeviceFigures(**given, memory_stats=_own(simulation, description))


def _own(simulation: Simulation, description: Device) -> dict[str, int | float]:
    figures = simulation.pools()
    largest, largest_free = figures.pop("largest"), figures.pop("largest_free")
    return own_figures(description, figures, largest=largest, largest_free=largest_free)


def _replayed(
    trace: Trace,
    description: Device,
    realloc: Realloc,
    states: NDArray[np.int64] | None,
    *,
    checked: bool = False,
    goes_on: bool = False,
    progress: Callable[[int], None] | None = None,
) -> tuple[Simulation, int]:
    """Return the simulation at its end, and the number of events that were carried out."""
    simulation = Simulation(
        description.family,
        _parameters(description),
        frees_first=realloc is Realloc.FREE_FIRST,
        checked=checked,
        keeps_calls=states is not None,
        goes_on=goes_on,
    )
    columns = trace.op, trace.size, trace.slot, trace.stream, _dense(trace.pool)
    done = 0
    for start in range(0, len(trace), _STRIDE):
        part = slice(start, start + _STRIDE)
        events: Any = [None if column is None else column[part] for column in columns]
        wanted: Any = [None] * _STATES if states is None else states[:, part]
        carried_out, failure = simulation.replay(*events, *wanted)
        done += carried_out
        if failure is not None:
            raise SimallocError(f"event {done}: {failure}")
        if progress is not None:
            progress(carried_out)
        if carried_out < len(events[0]):
            break
    return simulation, done


def _dense(pool: NDArray[np.uint32] | None) -> NDArray[np.uint32] | None:
    """Return pools by small numbers, in the same order; 0 stays."""
    if pool is None or not pool.any():
        return None
    if pool.max() < _SMALL_POOL:
        return pool
    return np.unique(np.append(pool, np.uint32(0)), return_inverse=True)[1][:-1].astype(np.uint32)


def _parameters(description: Device) -> dict[str, Any]:
    """Return what the core needs of a description, by the names of its parameters."""
    capacity = {"capacity": description.available}
    names: tuple[str, ...]
    match description:
        case PyTorch(rules=rules):
            return capacity | {
                name: _NO_LIMIT if value is None else value
                for name, value in rules._asdict().items()
            }
        case Bfc():
            names = "limit", "always_split", "growth", "collection"
        case OrtArena():
            names = "limit", "max_dead", "initial_chunk", "initial_growth", "max_extend"
            capacity["doubling"] = description.extend is Extend.NEXT_POWER_OF_TWO
        case RmmPool():
            names = "initial", "maximum"
        case _:
            names = ()
    return capacity | {name: getattr(description, name) for name in names}
