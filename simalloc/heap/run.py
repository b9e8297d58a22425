"""The result of a simulation, in program bytes (not scaled)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from simalloc.errors import SimallocError
from simalloc.heap.footprint import Footprint, Timeline
from simalloc.heap.fragmentation import Fragmentation
from simalloc.heap.quantity import footprint
from simalloc.heap.run_figures import RunFigures
from simalloc.heap.run_options import Realloc, RunOptions
from simalloc.plural import counted, kind_of
from simalloc.policy import Policy
from simalloc.printable import printable
from simalloc.shown import ShownAsTable
from simalloc.trace.at_start import NONE_LIVE, LiveAtStart

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from simalloc.heap.device_figures import DeviceFigures


@dataclass(frozen=True)
class Counters:
    """Counts of the policy's work (docs/policies.md defines them)."""

    growths: int
    splits: int
    coalescings: int
    free_blocks_mean: float
    free_blocks_peak: int
    visited_mean: float
    visited_worst: int
    visited_at_free_mean: float
    visited_at_free_worst: int
    coalescing_frees: int
    internal_bytes_at_peak_heap: float
    external_bytes_at_peak_heap: float


@dataclass(frozen=True)
class Costs:
    """The cost of the heap's upkeep, as counted by the C core.

    `system_calls` counts calls that map or unmap memory, move the break or return pages to the
    system. `faults` counts pages that became resident, for the first time or again (0 if residence
    was not measured).
    """

    system_calls: int
    faults: int


@dataclass(frozen=True)
class Refusals:
    """Requests of a run that were refused for lack of memory."""

    refused: int = 0
    """Number of refused requests."""
    first_refused_event: int = 0
    """Number, from 1 on, of the first refused event, or 0 if none was refused."""
    largest_free_bytes: float = 0.0
    """Size of the largest free block after the first refused event, with adjacent space to grow.

    If the allocator got no memory for its own tables, the run ends before that event, and the heap
    before that event is examined.
    """
    stopped: bool = False
    """True if the run ended with the first refused event."""


NO_REFUSALS: Final = Refusals()


@dataclass(frozen=True)
class Found:
    """Result and proof of the search of `best-possible`.

    `bound_bytes` is the peak of live bytes in block sizes, which no placement can undercut.
    `is_bound` is true if the heap needs exactly `bound_bytes`. `lower_bytes` is the highest proven
    lower bound. `is_optimal` is true if the heap is proven minimal. `how` names the try, out of
    `tries`, that found the heap. `stopped` is true if Ctrl-C ended the search before all tries were
    finished.
    """

    bound_bytes: float
    is_bound: bool
    lower_bytes: float
    is_optimal: bool
    how: str
    tries: int
    stopped: bool

    def __str__(self) -> str:
        if self.is_bound:
            return f"the bound itself: {self.how}"
        if self.is_optimal:
            return f"the minimum, proven: {self.how}"
        stopped = ", stopped before the last" if self.stopped else ""
        return f"the best of {counted(self.tries, 'try', 'tries')}{stopped}: {self.how}"


@dataclass(frozen=True)
class Run(RunFigures, ShownAsTable):
    """Result of one trace under one policy. Byte figures are divided by `scale`.

    The columns of a data frame's row are also attributes, such as `fragmentation_4`.

    Attributes
    ----------
    trace : str
        Name of the trace.
    policy : Policy
        Simulated policy.
    events : int
        Number of events carried out.
    objects : int
        Number of objects of the trace.
    max_live_bytes, final_live_bytes : int
        Maximum of the live bytes, and live bytes after the last event.
    mapped : Footprint
        Bytes of the heap: obtained from the system and not returned.
    counters : Counters
        Counts of the policy's work.
    resident : Footprint, optional
        Bytes in written pages of `page` program bytes that were not returned; None if not measured.
    largest_free : Footprint, optional
        Bytes of the largest free block, 0 without a free block; None if not measured.
    occupied : mapping of int to Footprint
        Bytes of the pages with at least one live byte, by page size; empty if not measured.
    addresses : array of int64, optional
        Address of the object after each event in scaled bytes, -1 for a free; None if not kept.
    seconds : float
        Time of the replay alone.
    costs : Costs, optional
        Costs counted by the core.
    device : DeviceFigures, optional
        Figures of a device allocator; None for other allocators.
    found : Found, optional
        Search and proof of `best-possible`; None for other policies.
    refusals : Refusals
        Requests refused for lack of memory.

    Examples
    --------
    >>> run = simalloc.simulate("espresso", "best-fit-ao")
    >>> run.mapped.peak_bytes, run.fragmentation_4
    """

    trace: str
    policy: Policy
    options: RunOptions
    """Options of the run, with the policy's defaults."""
    events: int
    objects: int
    max_live_bytes: int
    final_live_bytes: int
    mapped: Footprint
    counters: Counters
    threads: int = 1
    """Number of threads in the trace."""
    replayed_threads: int = 1
    """Number of threads that the policy distinguishes."""
    resident: Footprint | None = None
    largest_free: Footprint | None = None
    occupied: Mapping[int, Footprint] = field(default_factory=dict)
    addresses: NDArray[np.int64] | None = field(default=None, repr=False, compare=False)
    seconds: float = field(default=0.0, compare=False)
    costs: Costs | None = field(default=None, compare=False)
    device: DeviceFigures | None = None
    found: Found | None = None
    refusals: Refusals = NO_REFUSALS
    live_at_start: LiveAtStart = NONE_LIVE
    """Objects that were live when the recording of a running process began."""

    @property
    def scale(self) -> int:
        """Factor by which every size was multiplied."""
        return self.options.exact_scale

    @property
    def realloc(self) -> Realloc:
        """Rule for realloc events."""
        return self.options.realloc_rule

    @property
    def page(self) -> int:
        """Page size of the resident memory, in bytes."""
        return self.options.page

    @property
    def refused(self) -> int:
        """Number of requests that were refused for lack of memory."""
        return self.refusals.refused

    @property
    def first_refused_event(self) -> int:
        """Number, from 1 on, of the first refused event, or 0 if none was refused."""
        return self.refusals.first_refused_event

    @property
    def finished(self) -> bool:
        """True if all events were carried out; False if a refused request ended the run."""
        return not self.refusals.stopped

    @property
    def capacity_bytes(self) -> int:
        """Bytes that the allocator could obtain from the system, or 0 if unlimited."""
        return self.policy.description.capacity

    def __repr__(self) -> str:
        return printable(
            f"<Run {self.trace} under {self.policy}: peak heap {self.peak_heap_bytes:,.0f} bytes>"
        )

    @property
    def peak_heap_bytes(self) -> float:
        """Peak of the mapped bytes."""
        return self.mapped.peak_bytes

    @property
    def peak_event(self) -> int:
        """Event after which the heap first had its peak."""
        return self.mapped.peak_event

    @property
    def final_heap_bytes(self) -> float:
        """Bytes mapped after the last event."""
        return self.mapped.final_bytes

    @property
    def live_bytes_at_peak_heap(self) -> int:
        """Live bytes when the heap first had its peak."""
        return self.mapped.live_bytes_at_peak

    @property
    def heap_bytes_at_max_live(self) -> float:
        """Bytes mapped when live bytes first had their peak."""
        return self.mapped.bytes_at_max_live

    @property
    def timeline(self) -> Timeline:
        """Live bytes and heap over time."""
        return self.mapped.timeline


def fragmentation(run: Run, of: str = "mapped") -> Fragmentation:
    """Return all four measures of fragmentation of a run.

    Parameters
    ----------
    run : Run
        A run, as `simulate` returns it.
    of : {"mapped", "resident"}, default "mapped"
        The bytes to measure.

    Returns
    -------
    Fragmentation
        The measures #1 to #4 as fractions.

    Raises
    ------
    SimallocError
        If `run` is not a run or has no resident bytes, and for other words in `of`.

    Examples
    --------
    >>> simalloc.fragmentation(simalloc.simulate("espresso", "first-fit-ao"))

    """
    if not isinstance(run, Run):
        raise SimallocError(
            f"fragmentation() takes a run that simulate() returned, not {kind_of(run)}"
        )
    if of not in {"mapped", "resident"}:
        raise SimallocError(f"fragmentation measures mapped or resident bytes, not {of!r}")
    return Fragmentation.of(footprint(run, of), run.max_live_bytes)
