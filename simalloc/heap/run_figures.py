"""Figures of a run under the names of their columns in data frames and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast, overload

from simalloc.heap.fragmentation import Fragmentation
from simalloc.heap.quantity import Quantity, footprint

if TYPE_CHECKING:
    from simalloc.heap.footprint import Footprint
    from simalloc.heap.run import Counters, Found, Refusals, Run

_Number = TypeVar("_Number", int, float)


class _Counter(Generic[_Number]):
    """An attribute of the same name in the run's `counters`."""

    def __set_name__(self, owner: type[object], name: str) -> None:
        self._name = name
        self.__doc__ = f"`counters.{name}`."

    @overload
    def __get__(self, run: None, owner: type[object]) -> _Counter[_Number]: ...
    @overload
    def __get__(self, run: RunFigures, owner: type[object]) -> _Number: ...
    def __get__(self, run: RunFigures | None, owner: type[object]) -> _Number | _Counter[_Number]:
        if run is None:
            return self
        counted: _Number = getattr(run.counters, self._name)
        return counted


class _OfFootprint:
    """A figure of a footprint, such as `peak_resident_bytes`: the `peak_bytes` of `resident`."""

    def __init__(self, of: Quantity, doc: str) -> None:
        self.of = of
        self.__doc__ = doc

    def __set_name__(self, owner: type[object], name: str) -> None:
        self._name = name.replace(f"_{self.of.replace('-', '_')}", "")

    @overload
    def __get__(self, run: None, owner: type[object]) -> _OfFootprint: ...
    @overload
    def __get__(self, run: RunFigures, owner: type[object]) -> float: ...
    def __get__(self, run: RunFigures | None, owner: type[object]) -> float | _OfFootprint:
        if run is None:
            return self
        figure: float = getattr(footprint(cast("Run", run), self.of), self._name)
        return figure


class RunFigures:
    """Attributes of a `Run`, named as the columns of `Runs.to_pandas()`.

    A measure of fragmentation is a fraction, nan if no byte was live at its point. The figures of
    resident bytes and of the largest free block raise `SimallocError` unless they were measured.
    """

    if TYPE_CHECKING:
        max_live_bytes: int
        mapped: Footprint
        counters: Counters
        found: Found | None
        refusals: Refusals

    growths = _Counter[int]()
    splits = _Counter[int]()
    coalescings = _Counter[int]()
    free_blocks_mean = _Counter[float]()
    free_blocks_peak = _Counter[int]()
    visited_mean = _Counter[float]()
    visited_worst = _Counter[int]()
    visited_at_free_mean = _Counter[float]()
    visited_at_free_worst = _Counter[int]()
    coalescing_frees = _Counter[int]()
    internal_bytes_at_peak_heap = _Counter[float]()
    external_bytes_at_peak_heap = _Counter[float]()

    @property
    def fragmentation_1(self) -> float:
        """Measure #1 of the mapped bytes: the mean of heap / live - 1 over the events."""
        return self._fragmentation.mean

    @property
    def fragmentation_1_by_bytes(self) -> float:
        """Measure #1 with the bytes allocated as the clock."""
        return self._fragmentation.mean_by_bytes

    @property
    def fragmentation_2(self) -> float:
        """Measure #2: heap / live - 1 when live bytes first had their peak."""
        return self._fragmentation.at_peak_live

    @property
    def fragmentation_3(self) -> float:
        """Measure #3: heap / live - 1 when the heap first had its peak."""
        return self._fragmentation.at_peak_heap

    @property
    def fragmentation_4(self) -> float:
        """Measure #4: peak heap / peak live - 1."""
        return self._fragmentation.peak_to_peak

    peak_resident_bytes = _OfFootprint("resident", "The maximum of the resident bytes.")
    final_resident_bytes = _OfFootprint("resident", "The bytes resident after the last event.")
    mean_resident_bytes = _OfFootprint("resident", "The mean of the resident bytes over events.")
    min_largest_free_bytes = _OfFootprint(
        "largest-free", "The minimum size of the largest free block."
    )
    final_largest_free_bytes = _OfFootprint(
        "largest-free", "The size of the largest free block at the end."
    )
    mean_largest_free_bytes = _OfFootprint(
        "largest-free", "The mean size of the largest free block."
    )

    @property
    def largest_free_bytes_when_refused(self) -> float | None:
        """Size of the largest free block after the first refused request, or None."""
        return self.refusals.largest_free_bytes if self.refusals.refused else None

    @property
    def bound_bytes(self) -> float | None:
        """`found.bound_bytes`, or None if the policy is not `best-possible`."""
        return None if self.found is None else self.found.bound_bytes

    @property
    def lower_bound_bytes(self) -> float | None:
        """`found.lower_bytes`, or None if the policy is not `best-possible`."""
        return None if self.found is None else self.found.lower_bytes

    @property
    def _fragmentation(self) -> Fragmentation:
        return Fragmentation.of(self.mapped, self.max_live_bytes)


def footprint_figures(run: Run, of: Quantity) -> dict[str, float]:
    """Return the figures of `RunFigures` that describe one quantity, by name."""
    figures = vars(RunFigures).items()
    names = [name for name, one in figures if isinstance(one, _OfFootprint) and one.of == of]
    return {name: getattr(run, name) for name in names}
