"""The processes of one recording on a common clock, with their total memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.advice import policy_in_use, recorded
from simalloc.heap import Run, simulate
from simalloc.trace import Trace

MOMENTS: Final = 600
"""Number of moments for which totals are computed; each has the maximum of its span."""

_SMALL: Final = 0.01
"""Minimum share of a large process in the total peak."""


@dataclass(frozen=True, eq=False)
class Process:
    """One process under the model of the malloc that served it.

    `begins` and `ends` are seconds since the first process began. `live` and `resident` are maxima
    in bytes at each moment of the tree.
    """

    name: str
    number: int
    """Process id, or 0 if it is unknown."""
    trace: Trace
    run: Run
    begins: float
    ends: float
    live: NDArray[np.float64]
    resident: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProcessTree:
    """Processes by decreasing resident bytes.

    `seconds` are the seconds from the start of the first process to each moment.
    """

    processes: Sequence[Process]
    seconds: NDArray[np.float64]

    @property
    def live(self) -> NDArray[np.float64]:
        """Live bytes of all processes at each moment."""
        total: NDArray[np.float64] = np.sum([one.live for one in self.processes], axis=0)
        return total

    @property
    def resident(self) -> NDArray[np.float64]:
        """Resident bytes of all processes at each moment."""
        total: NDArray[np.float64] = np.sum([one.resident for one in self.processes], axis=0)
        return total

    @property
    def large(self) -> list[Process]:
        """Processes with at least `_SMALL` of the total peak, or the largest process."""
        least = _SMALL * self.resident.max()
        return [one for one in self.processes if one.resident.max() >= least] or [self.processes[0]]


def process_tree(
    traces: Sequence[Trace], *, progress: Callable[[int], None] | None = None
) -> ProcessTree:
    """Return the processes of several traces, on the clock of the earliest process.

    Without times (`record --times`), the events of a trace are spread over the samples of its
    process. The memory of a process is counted until its last event. `progress` is called with the
    number of events done since its last call.
    """
    begun = [_begun(trace.provenance) for trace in traces]
    first = min((each for each in begun if each is not None), default=0.0)
    begins = [0.0 if each is None else each - first for each in begun]
    clocks = [start + _clock(trace) for start, trace in zip(begins, traces, strict=True)]
    end = max(float(clock.max(initial=0)) for clock in clocks)
    seconds = np.linspace(0, end, MOMENTS)
    found = [
        _process(trace, clock, start, seconds, progress)
        for trace, clock, start in zip(traces, clocks, begins, strict=True)
        if len(trace)
    ]
    found.sort(key=lambda one: -float(one.resident.max()))
    return ProcessTree(found, seconds)


def _begun(provenance: Mapping[str, Any]) -> float | None:
    try:
        return datetime.fromisoformat(str(provenance["started"])).timestamp()
    except (KeyError, ValueError):
        return None


def _clock(trace: Trace) -> NDArray[np.float64]:
    """Return the seconds since the start of a process at each of its events."""
    if trace.time is not None:
        return trace.time / 1e9
    samples = recorded(trace.provenance)
    if not samples.has_samples:
        return np.zeros(len(trace))
    events = np.append(samples.event, max(len(trace), int(samples.event[-1]) + 1))
    times = np.append(samples.time, samples.time[-1])
    between = np.interp(np.arange(len(trace)), np.append(0, events), np.append(0, times))
    seconds: NDArray[np.float64] = between / 1e9
    return seconds


def _process(
    trace: Trace,
    clock: NDArray[np.float64],
    begins: float,
    seconds: NDArray[np.float64],
    progress: Callable[[int], None] | None,
) -> Process:
    policy = policy_in_use(trace)
    run = simulate(trace, policy, resident=True, progress=progress)
    assert run.resident is not None, "the run was simulated with resident=True"
    mapped, resident = run.mapped.timeline, run.resident.timeline
    at = clock[np.minimum(np.arange(len(mapped.live_high)) * mapped.interval, len(clock) - 1)]
    ends = float(clock[-1])
    return Process(
        PurePath(str(trace.provenance.get("executable", trace.name))).name,
        int(trace.provenance.get("process", 0)),
        trace,
        run,
        begins,
        ends,
        _max(at, mapped.live_high, seconds, begins, ends),
        _max(at, resident.heap_high, seconds, begins, ends),
    )


def _max(
    at: NDArray[np.float64],
    values: NDArray[np.float64],
    seconds: NDArray[np.float64],
    begins: float,
    ends: float,
) -> NDArray[np.float64]:
    """Return the maximum of a value in the span before each moment; 0 outside the process's life.

    A value holds from its own time until the next value; the last one holds until the end.
    """
    place = np.searchsorted(at, seconds, side="right") - 1
    held = np.where(place >= 0, values[np.maximum(place, 0)], 0.0)
    moment = np.minimum(np.searchsorted(seconds, at), len(seconds) - 1)
    np.maximum.at(held, moment, values)
    span = seconds[1] - seconds[0]
    held[(seconds < begins) | (seconds > ends + span)] = 0
    most: NDArray[np.float64] = held
    return most
