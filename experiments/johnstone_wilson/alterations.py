"""Alterations of a trace in one respect, which isolate the cause of one of the paper's figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace import Op, Trace

STDIO_BUFFER: Final = 8192
"""Size of a stdio buffer in the C libraries of the 1990s, in bytes."""


@dataclass(frozen=True)
class Objects:
    """Alteration that allocates objects of these sizes first and never frees them."""

    sizes: tuple[int, ...]

    def __call__(self, trace: Trace) -> Trace:
        """Return the trace with allocations of the objects before its first event."""
        first = np.full(len(self.sizes), Op.MALLOC, np.uint8)
        keys = -1 - np.arange(len(self.sizes))
        return _made_of(
            trace,
            np.concatenate((first, trace.op)),
            np.concatenate((keys, trace.object)),
            np.concatenate((np.array(self.sizes, np.int64), trace.size)),
        )


@dataclass(frozen=True)
class NewestFirst:
    """Alteration that reverses each run of frees of rising objects, such as an obstack's frees."""

    def __call__(self, trace: Trace) -> Trace:
        """Return the trace with each run of frees reversed."""
        order = _runs_reversed(trace.op == Op.FREE, trace.object)
        return _made_of(trace, trace.op, trace.object[order], trace.size)


@dataclass(frozen=True)
class Without:
    """Alteration that removes every object that ever requests more than `size` bytes."""

    size: int

    def __call__(self, trace: Trace) -> Trace:
        """Return the trace without the large objects."""
        large = np.unique(trace.object[trace.size > self.size])
        kept = ~np.isin(trace.object, large)
        return _made_of(trace, trace.op[kept], trace.object[kept], trace.size[kept])


Alteration = Objects | NewestFirst | Without


def _runs_reversed(free: NDArray[np.bool_], keys: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the order of events in which each run of frees with rising keys is reversed."""
    goes_on = np.zeros(len(free), np.bool_)
    goes_on[1:] = free[1:] & free[:-1] & (keys[1:] > keys[:-1])
    starts = np.flatnonzero(~goes_on)
    run = np.cumsum(~goes_on) - 1
    ends = np.append(starts[1:], len(free)) - 1
    return np.asarray(starts[run] + ends[run] - np.arange(len(free)))


def _made_of(
    trace: Trace, op: NDArray[np.uint8], keys: NDArray[np.int64], size: NDArray[np.int64]
) -> Trace:
    return Trace.from_events(op, keys, size, name=trace.name, provenance=trace.provenance)
