"""The bytes of a heap by kind: live bytes, and each kind of waste."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import (
    CACHED,
    FREE,
    HOLE,
    MAPPED_FROM,
    TABLE,
    WASTE,
    HeapReplay,
    HeapSnapshot,
    Run,
    event_or_peak,
)
from simalloc.heap.quantity import Quantity
from simalloc.heap.running.block_sizes import gross_sizes
from simalloc.measure.own_statistics import Known, own_statistics
from simalloc.policy import spell
from simalloc.shown import ShownAsTable
from simalloc.trace import EventSource

if TYPE_CHECKING:
    from simalloc.heap.real import NativeRun

PARTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "live": "live",
        "headers": "headers, alignment",
        "rounding": "rounding",
        "tables": "tables",
        "cached": "cached",
        "free_inside": "free inside",
        "free_at_top": "free at the top",
        "unknown": "unknown",
    }
)
"""The parts of a heap: their names in `Waste`, and their printed names."""

FREE_PARTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "free_resident": "free: resident",
        "free_untouched": "free: never touched",
        "free_purged": "free: purged",
    }
)
"""Kinds of pages of cached and free bytes: their names in `Waste`, and their printed names."""

_LONGEST_MARK: Final = 32
"""Maximum bytes of a table at the break that marks the heap's end. Growth begins at this mark."""


@dataclass(frozen=True)
class Waste(ShownAsTable):
    """The bytes of a heap after an event by kind. Bytes are program bytes; the kinds add up.

    Cached and free bytes are also split by their pages: resident pages, pages that were not touched
    since they were mapped, and pages that were returned to the system. The three add up to the
    cached and free bytes. If pages are not known, they and `resident` are None.

    Examples
    --------
    >>> found = simalloc.waste("espresso", "first-fit-ao")
    >>> found.live, found.free_inside
    """

    trace: str
    policy: str
    """Text of the policy, or name of a real allocator."""
    event: int | None
    """Number of the event, from 0, or None for a real allocator."""
    live: float
    """Bytes requested and not freed."""
    headers: float = 0.0
    """Bytes that headers, footers, alignment and a minimum size add to requests."""
    rounding: float = 0.0
    """Other unused bytes of blocks: size classes, remainders not split off, unusable ends."""
    tables: float = 0.0
    """Bytes of the allocator's own tables."""
    cached: float = 0.0
    """Free bytes in caches, which are not merged with neighbouring free blocks."""
    free_inside: float = 0.0
    """Free bytes between other blocks, or in a separate segment."""
    free_at_top: float = 0.0
    """Free bytes at the break, or at the mark by which an allocator knows the end of its heap."""
    unknown: float = 0.0
    """Bytes of a real allocator's heap that are not live, because it does not report their kind."""
    threads: int = 1
    """Number of threads in the trace."""
    replayed_threads: int = 1
    """Number of threads that the policy distinguishes."""
    resident: float | None = None
    """Bytes of all kinds in resident pages, or None if pages are not known."""
    free_resident: float | None = None
    """Cached or free bytes in resident pages, which occupy memory without being used."""
    free_untouched: float | None = None
    """Cached or free bytes in pages that were not touched since they were mapped."""
    free_purged: float | None = None
    """Cached or free bytes in pages that the allocator returned to the system but left mapped."""
    largest_free: float | None = None
    """Size of the largest free block in bytes, or None if the run did not measure it."""
    scale: int = 1
    """Factor by which sizes were multiplied; 1 for a real allocator."""
    realloc: str | None = None
    """The realloc rule, or None for a real allocator, which has its own rule."""
    own_statistics: Mapping[str, float] = field(default_factory=dict)
    """Lines of the malloc's own statistics, and the components of these lines."""

    @property
    def name(self) -> str:
        """The policy, or the real allocator with `(measured)`."""
        return self.policy if self.event is not None else f"{self.policy} (measured)"

    @property
    def heap(self) -> float:
        """Bytes of the whole heap."""
        return float(sum(getattr(self, part) for part in PARTS))


def waste(
    source: EventSource,
    run: Run,
    event: int | None = None,
    *,
    of: Quantity = "mapped",
    progress: Callable[[int], None] = lambda _: None,
) -> Waste:
    """Return the bytes of a run's heap by kind after an event.

    The default is the event with the worst value of the quantity `of`. This event is the first peak
    of the heap or of its resident bytes, or the first minimum of the largest free block. The trace
    is replayed up to the event. `progress` is called with the number of events done since its last
    call. Raises `SimallocError` if the event does not exist, if the run is not of the trace, or if
    it did not measure the quantity.
    """
    sums = WasteSums(source, run, event_or_peak(source, run, event, of))
    replay = HeapReplay(source, run, [sums], events=0, pages=True, progress=progress)
    replay.go()
    return sums.waste()


class WasteSums:
    """An observer that sums the bytes of a heap by kind; `waste` documents the arguments."""

    def __init__(self, source: EventSource, run: Run, event: int | None = None) -> None:
        self._trace = source.name
        self._run = run
        self._bytes = dict.fromkeys(PARTS, 0.0)
        self._ends = 0.0
        self._reported: Mapping[str, int] = {}
        self._top: list[tuple[int, float]] = []
        self._pages: dict[str, float] = {}
        self._largest_free: float | None = None
        self.events = (event_or_peak(source, run, event),)

    def look(self, heap: HeapReplay) -> None:
        """Sum up the bytes of the heap."""
        for part in heap.parts():
            self._add(part)
            self._add_pages(part, heap.in_pages(part))
        self._reported = heap.reported()
        self._largest_free = heap.largest_free()

    def waste(self) -> Waste:
        """Return the bytes by kind."""
        parts = dict(self._bytes)
        at_top = _free_at_top(self._top, self._run.scale)
        parts["free_inside"] -= at_top
        parts["free_at_top"] = at_top
        return Waste(
            self._trace,
            spell(self._run.policy),
            self.events[0],
            **parts,
            threads=self._run.threads,
            replayed_threads=self._run.replayed_threads,
            **self._pages,
            largest_free=self._largest_free,
            scale=self._run.scale,
            realloc=self._run.realloc.value,
            own_statistics=self._own_statistics(parts),
        )

    def _own_statistics(self, parts: Mapping[str, float]) -> Mapping[str, float]:
        """Return the malloc's own statistics, if its headers and tables are modelled."""
        description = self._run.policy.description
        if not getattr(description, "mechanism", False):
            return {}
        known = Known(
            reported=self._reported,
            live=parts["live"],
            beyond=parts["headers"] + parts["rounding"] - self._ends,
            ends=self._ends,
            tables=parts["tables"],
            cached=parts["cached"],
            free=parts["free_inside"] + parts["free_at_top"],
        )
        return own_statistics(description.family, known)

    def _add(self, heap: HeapSnapshot) -> None:
        scale = self._run.scale
        taken = heap.object >= 0
        asked, size = heap.requested[taken], heap.size[taken]
        overhead = self._run.policy.description.applied_overhead
        gross = gross_sizes(asked, overhead, scale) / scale
        gross = np.clip(gross, asked, size)
        self._bytes["live"] += float(asked.sum())
        self._bytes["headers"] += float((gross - asked).sum())
        self._bytes["rounding"] += float((size - gross).sum()) + _in_state(heap, WASTE)
        self._ends += _in_state(heap, WASTE)
        self._bytes["tables"] += _in_state(heap, TABLE)
        self._bytes["cached"] += _in_state(heap, CACHED)
        self._bytes["free_inside"] += _in_state(heap, FREE)
        below = np.flatnonzero(heap.address < MAPPED_FROM / scale)
        last = zip(heap.object[below[-2:]].tolist(), heap.size[below[-2:]].tolist(), strict=True)
        self._top = [*self._top, *last][-2:]

    def _add_pages(
        self, heap: HeapSnapshot, in_pages: tuple[NDArray[np.int64], NDArray[np.int64]] | None
    ) -> None:
        """Split cached and free bytes by their pages."""
        if in_pages is None:
            return
        resident, touched = (counted / self._run.scale for counted in in_pages)
        free = np.isin(heap.object, (FREE, CACHED))
        found = {
            "resident": resident[heap.object != HOLE],
            "free_resident": resident[free],
            "free_untouched": (heap.size - touched)[free],
            "free_purged": (touched - resident)[free],
        }
        for name, counted in found.items():
            self._pages[name] = self._pages.get(name, 0.0) + float(counted.sum())


def real_waste(run: NativeRun) -> Waste:
    """Return the peak of a real allocator's mapped memory by kind; only live bytes are known.

    The live bytes are their own peak, because the moment of the mapped peak is unknown.
    """
    live = float(run.max_live_bytes)
    return Waste(
        run.trace,
        run.allocator,
        None,
        live,
        unknown=max(0.0, run.mapped.peak_bytes - live),
        threads=run.threads,
        replayed_threads=run.threads,
    )


def _in_state(heap: HeapSnapshot, state: int) -> float:
    return float(heap.size[heap.object == state].sum())


def _free_at_top(top: Sequence[tuple[int, float]], scale: int) -> float:
    """Return the size of the free block that ends at the break or at a mark there, or 0.

    `top` has the contents and sizes of the last two blocks below the break.
    """
    if top and top[-1][0] == TABLE and top[-1][1] * scale <= _LONGEST_MARK:
        top = top[:-1]
    return top[-1][1] if top and top[-1][0] == FREE else 0.0
