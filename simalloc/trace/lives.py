"""Births and deaths of a trace's objects, on a clock that counts allocated bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.events import Op, allocates, begins
from simalloc.trace.trace import Trace

Counting = Literal["new", "same"]
""""new" if a realloc makes a new object, as Johnstone and Wilson count; "same" if it keeps the old
one."""


@dataclass(frozen=True, eq=False)
class Lives:
    """The lives of a trace in order of birth. Every array is int64 with one entry per life.

    A life ends at the object's free or, if a realloc makes a new object, at the realloc. At a
    realloc, the old object dies just before the new object is born. An object that is never freed
    dies at the end of the trace.
    """

    events: int
    """Number of events in the trace. It is also the event of death of objects that are never freed.
    """
    born: NDArray[np.int64]
    """The event of birth."""
    died: NDArray[np.int64]
    """The event of death, or `events`."""
    size: NDArray[np.int64]
    """Requested bytes. A realloc that does not end the life replaces them."""
    birth: NDArray[np.int64]
    """Bytes that the program had allocated before the birth."""
    death: NDArray[np.int64]
    """Bytes that the program had allocated before the death."""
    length: NDArray[np.int64]
    """Number of objects allocated from the birth (inclusive) until the death."""

    def __len__(self) -> int:
        return len(self.born)

    @property
    def freed(self) -> NDArray[np.bool_]:
        """True for lives that end within the trace."""
        return self.died < self.events

    @property
    def lifetime(self) -> NDArray[np.int64]:
        """Bytes allocated from the birth (inclusive) until the death."""
        return self.death - self.birth


def lives_of(trace: Trace, realloc: Counting = "new") -> Lives:
    """Return the lives of a trace's objects."""
    if realloc == "new":
        born, died = born_and_died(trace)
        size = trace.size[born]
    else:
        born = np.flatnonzero(begins(trace.op))
        died = _frees(trace)
        size = trace.size[born]
        resized = np.flatnonzero(trace.op == Op.REALLOC)
        size[trace.object[resized]] = trace.size[resized]  # the last size of an object remains
    bytes_before = _running(trace.size)
    births_before = np.zeros(len(trace), np.int64)
    births_before[born] = 1
    births_before = _running(births_before)
    return Lives(
        events=len(trace),
        born=born,
        died=died,
        size=size,
        birth=bytes_before[born],
        death=bytes_before[died],
        length=births_before[died] - np.arange(len(born)),
    )


def born_and_died(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the events of birth and death, if a realloc makes a new object."""
    born = np.flatnonzero(allocates(trace.op))
    return born, _ends_of_births(trace.object[born], born, _frees(trace))


def _frees(trace: Trace) -> NDArray[np.int64]:
    """Return for each object the event that frees it, or the number of events if never freed."""
    ends = np.full(trace.objects, len(trace), np.int64)
    frees = np.flatnonzero(trace.op == Op.FREE)
    ends[trace.object[frees]] = frees
    return ends


def _ends_of_births(
    owner: NDArray[np.int64], born: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the event that ends each birth's life: the owner's next birth, or else its free."""
    died = ends[owner]
    if len(born) == len(ends):
        return died
    order = np.argsort(owner, kind="stable")
    again = owner[order[1:]] == owner[order[:-1]]
    died[order[:-1][again]] = born[order[1:][again]]
    return died


def _running(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the running sums of the values, from 0 to the total."""
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums
