"""Facts about a program beyond its events, which limit the certainty of a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from simalloc.advice.candidates import MODELS, known_versions, nearest_version
from simalloc.advice.outcomes import Setting
from simalloc.advice.recorded import Recorded
from simalloc.trace import EventSource, Op
from simalloc.trace.events import allocates

FEW_EVENTS: Final = 1000
"""Minimum number of events for a verdict; a trace with `LITTLE` live bytes may have fewer."""
LITTLE: Final = 256 << 10
"""Minimum peak of live bytes for a verdict; a trace with `FEW_EVENTS` events may have less."""

SMALL_SHARE: Final = 0.05
"""Share of malloc's heap in a process below which no malloc setting helps."""

_MANY_REMOTE: Final = 0.1

_FEW_OF_OTHERS: Final = 0.01
"""Maximum share of a second library's allocations for a verdict.

When tcmalloc is loaded, it makes one allocation.
"""

_UNSEEN_SHARE: Final = 0.5
"""Maximum share of the brk memory that the model's heap may leave unexplained."""


@dataclass(frozen=True)
class Share:
    """The process at its peak, and the model's heap at that time; bytes.

    `files` are the bytes of mapped files, and `other` all bytes except the heap and `files`. Both
    are None if the kinds of memory are unknown. `mapped_by` names the function whose own mappings
    have the most resident bytes, and `mapped` is their number. `mapped_by` is empty without own
    mappings.
    """

    process: int
    heap: float
    files: int | None = None
    other: float | None = None
    mapped_by: str = ""
    mapped: int = 0

    @property
    def of_malloc(self) -> float:
        """The share of the process that is malloc's heap."""
        return min(self.heap / self.process, 1.0) if self.process else 0.0


def share_of_malloc(now: Setting, process: Recorded) -> Share | None:
    """Return the process and the model's heap at the process's peak, or None without samples."""
    if not process.has_samples or not now.run.events:
        return None
    top = int(np.argmax(process.resident))
    line = now.resident.timeline
    place = min(int(process.event[top]) // line.interval, len(line.heap_high) - 1)
    resident, heap = int(process.resident[top]), float(line.heap_high[max(place, 0)])
    if not process.kinds:
        return Share(resident, heap)
    files = process.kinds.get("files", 0)
    largest = max(process.mappings, key=lambda one: int(one["resident_bytes"]), default=None)
    by, mapped = ("", 0) if largest is None else (largest["function"], largest["resident_bytes"])
    other = max(resident - files - heap, 0.0)
    return Share(resident, heap, files, other, by if mapped else "", mapped)


def has_two_mallocs(source: EventSource, process: Recorded) -> bool:
    """Return whether a library other than malloc's served many of the allocations."""
    return process.second_allocations > _FEW_OF_OTHERS * source.objects


def unseen_heap(process: Recorded, share: Share | None) -> float:
    """Return the bytes from brk that no recorded block explains, or 0 if there are few.

    Only mallocs obtain memory from brk. Unexplained bytes therefore indicate an unrecorded malloc.
    """
    from_brk = process.kinds.get("heap", 0)
    unseen = from_brk - share.heap if share else 0.0
    return unseen if unseen > max(_UNSEEN_SHARE * from_brk, LITTLE) else 0.0


def is_too_small(source: EventSource, now: Setting) -> bool:
    """Return whether a trace has too few events and bytes to judge a malloc."""
    return len(source) < FEW_EVENTS and now.run.max_live_bytes < LITTLE


@dataclass(frozen=True)
class RemoteFrees:
    """Frees by a thread other than the allocating thread: their share and rate.

    `per_second` is None if the trace has no times.
    """

    share: float
    per_second: float | None

    @property
    def are_many(self) -> bool:
        """True if the frees are so frequent that a sequential replay underestimates memory."""
        return self.share >= _MANY_REMOTE


def remote_frees(source: EventSource, most: int) -> RemoteFrees:
    """Return the frees by other threads; 0 for a trace of more than `most` events."""
    if source.threads < 2 or len(source) > most:
        return RemoteFrees(0.0, None)
    trace = source.in_memory()
    thread = trace.thread
    if thread is None:
        return RemoteFrees(0.0, None)
    asks, frees = allocates(trace.op), trace.op == Op.FREE
    owner = np.full(trace.objects, -1, np.int64)
    owner[trace.object[asks]] = thread[asks]  # the last event of an object determines its entry
    remote = int((owner[trace.object[frees]] != thread[frees]).sum())
    share = remote / max(int(frees.sum()), 1)
    time = trace.time
    if time is None or time[-1] <= time[0]:
        return RemoteFrees(share, None)
    return RemoteFrees(share, remote / ((float(time[-1]) - float(time[0])) / 1e9))


def distance(process: Recorded) -> tuple[str, str]:
    """Return the release that served the program and the modelled release, if they differ."""
    if not process.has_model or not process.version:
        return "", ""
    model = MODELS[process.allocator]
    if process.version in known_versions(model):
        return "", ""
    used = nearest_version(model, process.version)
    return (process.version, used) if used != process.version else ("", "")


def are_of_mimalloc(settings: Sequence[Setting]) -> bool:
    """Return whether some of the settings are mimalloc's."""
    return any(one.candidate.below == "mimalloc" for one in settings)
