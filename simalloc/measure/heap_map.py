"""The heap map: time across, addresses upwards, live bytes and their age."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import MAPPED_FROM, Run
from simalloc.measure._c import Cells
from simalloc.measure.stays import rows_of
from simalloc.measure.watch import watch
from simalloc.shown import ShownAsPicture
from simalloc.trace import EventSource
from simalloc.trace.statistics import Ended

if TYPE_CHECKING:
    from simalloc.measure._c import Shape

COLUMNS: Final = 1600
ROWS: Final = 800


@dataclass(frozen=True, eq=False)
class HeapMap(ShownAsPicture):
    """Cells of equal size over a window of events and addresses; row 0 has the lowest addresses.

    Column `c` covers the events from `first_event + c * cell_events` up to the next column's. Row
    `r` covers the bytes from `lowest_address + r * cell_bytes` up to the next row's. Bytes that are
    not live are free, or lost to rounding.

    Examples
    --------
    >>> found = simalloc.heap_map("espresso", "first-fit-ao")
    >>> found.live.mean(axis=1)
    """

    live: NDArray[np.float64]
    """Share of each cell's bytes and events that objects cover, 0 to 1: (rows, columns)."""
    age: NDArray[np.float64]
    """Mean age in events of the live bytes in the cell, or nan in an empty cell."""
    heap: NDArray[np.float64]
    """Maximum heap size in each column, in bytes: (columns,)."""
    first_event: int
    last_event: int
    """One past the window's last event. The last column may end beyond it."""
    cell_events: int
    lowest_address: float
    """Lowest address in bytes of the program, the unit of all sizes and addresses here."""
    cell_bytes: float
    mapped: NDArray[np.bool_] | None = None
    """Mask of cells in mapped memory: (rows, columns).

    None if all cells below `heap` are mapped.
    """
    apart: int = 0
    """Peak bytes of the window's objects in memory that is mapped apart from the heap.

    This memory has no addresses on the map; `heap` includes it.
    """

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Events and addresses at the edges of the cells: left, right, bottom, top."""
        rows, columns = self.live.shape
        return (
            self.first_event,
            self.first_event + columns * self.cell_events,
            self.lowest_address,
            self.lowest_address + rows * self.cell_bytes,
        )

    def coarser(self) -> HeapMap:
        """Return the same window in cells of twice the events and bytes."""
        columns, wide = len(self.heap), 2 * self.cell_events
        lengths = _lengths(self.first_event, self.last_event, self.cell_events, columns)
        wider = _lengths(self.first_event, self.last_event, wide, -(-columns // 2))
        covered = self.live * lengths
        amount = _in_fours(covered, np.add)
        # Ages are relative to the middle of a column. Events here are relative to the window's
        # first.
        born = self.cell_events * np.arange(columns) + lengths / 2 - np.nan_to_num(self.age)
        with np.errstate(invalid="ignore"):
            mean_born = _in_fours(born * covered, np.add) / amount
        return replace(
            self,
            live=amount / (2 * wider),
            age=np.maximum(wide * np.arange(len(wider)) + wider / 2 - mean_born, 0.0),
            cell_events=wide,
            cell_bytes=2 * self.cell_bytes,
            heap=_in_fours(self.heap[None], np.maximum)[0],
            mapped=None if self.mapped is None else _in_fours(self.mapped, np.logical_or),
        )


def heap_map(
    source: EventSource,
    run: Run,
    *,
    events: tuple[int, int] | None = None,
    addresses: tuple[float, float] | None = None,
    columns: int = COLUMNS,
    rows: int = ROWS,
    progress: Callable[[int], None] = lambda _: None,
) -> HeapMap:
    """Return the map of a run, or of a window of it.

    The trace is replayed unless the run was made with `addresses=True`.

    `events` are the first event and one past the last, and `addresses` are in bytes of the program.
    The default is the whole run. The map has at most `columns` times `rows` cells. `progress` is
    called with the number of events done since its last call.

    Raises `SimallocError` if the run is not the trace's, and `ValueError` for an invalid window or
    no cells.
    """
    drawing = Drawing(run, events=events, addresses=addresses, columns=columns, rows=rows)
    watch(source, run, [drawing], events=drawing.frame.last_event, progress=progress)
    return drawing.map()


class Drawing:
    """A map of a run that receives its stays as they end; `heap_map` documents the arguments."""

    def __init__(
        self,
        run: Run,
        *,
        events: tuple[int, int] | None = None,
        addresses: tuple[float, float] | None = None,
        columns: int = COLUMNS,
        rows: int = ROWS,
    ) -> None:
        self.frame = frame_of(run, events, addresses, columns, rows)
        self._run = run
        self._cells = Cells(self.frame.shape, run.scale)
        self._apart = [np.empty((5, 0), np.int64)]

    def see(self, stays: Ended) -> None:
        """Draw the next stays."""
        self._cells.cover(stays.mark, stays.size, stays.marked, stays.born, stays.died)
        if (stays.mark >= MAPPED_FROM).any():
            self._apart.append(rows_of(stays)[:, stays.mark >= MAPPED_FROM])

    def map(self) -> HeapMap:
        """Return the map. Call this function once, after all stays in the frame have been drawn."""
        _, size, _, since, until = np.concatenate(self._apart, axis=1)
        return filled_map(
            self._run, self.frame, self._cells.fill, most_at_once(size, since, until, self.frame)
        )


@dataclass(frozen=True)
class Frame:
    """A window of events and scaled addresses, and the size and number of its cells."""

    first_event: int
    last_event: int
    lowest_address: int
    cell_events: int
    cell_bytes: int
    columns: int
    rows: int

    @property
    def shape(self) -> Shape:
        """The frame in the form that the C code requires."""
        return (
            self.first_event,
            self.last_event,
            self.lowest_address,
            self.cell_events,
            self.cell_bytes,
            self.columns,
            self.rows,
        )


def frame_of(
    run: Run,
    events: tuple[int, int] | None,
    addresses: tuple[float, float] | None,
    columns: int,
    rows: int,
) -> Frame:
    """Return the frame that `heap_map` describes. Raises the same exceptions as `heap_map`."""
    if min(columns, rows) < 1:
        raise ValueError(f"columns is {columns} and rows is {rows}; use at least 1 for both")
    first, last, low, high = _window(run, events, addresses)
    cell_events, wide = _cells(last - first, columns)
    cell_bytes, tall = _cells(high - low, rows)
    return Frame(first, last, low, cell_events, cell_bytes, wide, tall)


def filled_map(
    run: Run,
    frame: Frame,
    fill: Callable[[NDArray[np.float64], NDArray[np.float64]], None],
    apart: int,
) -> HeapMap:
    """Return the map of a frame, whose cells `fill` fills column by column (c/cells.h).

    `HeapMap` documents `apart`.
    """
    covered = np.empty((frame.columns, frame.rows))
    born = np.empty((frame.columns, frame.rows))
    fill(covered.ravel(), born.ravel())
    lengths = _lengths(frame.first_event, frame.last_event, frame.cell_events, frame.columns)
    starts = frame.first_event + frame.cell_events * np.arange(frame.columns)
    with np.errstate(invalid="ignore"):
        age = starts + lengths / 2 - born.T / covered.T
    return HeapMap(
        live=covered.T / (lengths * frame.cell_bytes),
        age=np.maximum(age, 0.0),
        heap=_heap(run, starts, lengths),
        first_event=frame.first_event,
        last_event=frame.last_event,
        cell_events=frame.cell_events,
        lowest_address=frame.lowest_address / run.scale,
        cell_bytes=frame.cell_bytes / run.scale,
        apart=apart,
    )


def most_at_once(
    size: NDArray[np.int64], since: NDArray[np.int64], until: NDArray[np.int64], frame: Frame
) -> int:
    """Return the peak bytes of stays within a frame's events; the arrays have an entry per stay."""
    here = (since < frame.last_event) & (until > frame.first_event)
    # A stay that ends at an event precedes stays that begin at it. The stable sort keeps that
    # order.
    order = np.argsort(np.concatenate((until[here], since[here])), kind="stable")
    change = np.concatenate((-size[here], size[here]))[order]
    return int(change.cumsum().max(initial=0))


def _window(
    run: Run, events: tuple[int, int] | None, addresses: tuple[float, float] | None
) -> tuple[int, int, int, int]:
    """Return the first event and the one past the last, the lowest and highest scaled address."""
    first, last = events or (0, run.events)
    low, high = addresses or (0, run.peak_heap_bytes)
    lowest, highest = int(low * run.scale), round(high * run.scale)
    if not 0 <= first <= last <= run.events or not 0 <= lowest <= highest:
        raise ValueError(
            f"events {first} to {last} and addresses {low} to {high} are not a window; both "
            "ranges must be ascending and within the run"
        )
    return first, last, lowest, highest


def _cells(length: int, most: int) -> tuple[int, int]:
    """Return the size and number of whole cells that cover a length, with at most `most` cells."""
    size = max(1, -(-length // most))
    return size, max(1, -(-length // size))


def _lengths(first: int, last: int, cell_events: int, columns: int) -> NDArray[np.float64]:
    """Return the number of events in each column; the last column ends with the window."""
    lengths = np.full(columns, float(cell_events))
    lengths[-1] = max(1, last - first - (columns - 1) * cell_events)
    return lengths


def _in_fours(cells: NDArray[Any], merge: np.ufunc) -> NDArray[Any]:
    """Return cells merged with their neighbours to the right, above and both."""
    rows, columns = (np.arange(0, count, 2) for count in cells.shape)
    merged: NDArray[Any] = merge.reduceat(merge.reduceat(cells, rows, axis=0), columns, axis=1)
    return merged


def _heap(run: Run, starts: NDArray[np.int64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the timeline's maximum heap size in each column."""
    line = run.timeline
    if not len(line.heap_high):
        return np.zeros(len(starts))
    ends = starts + lengths.astype(np.int64) - 1
    first, last = (
        np.minimum(events // line.interval, len(line.heap_high) - 1) for events in (starts, ends)
    )
    return np.array([line.heap_high[a : b + 1].max() for a, b in zip(first, last, strict=True)])
