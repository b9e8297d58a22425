"""The call sites of the cells of a heap map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simalloc.heap import Run
from simalloc.measure._c import Cells
from simalloc.measure.heap_map import frame_of
from simalloc.measure.sites.usage import sites_of
from simalloc.trace import Trace
from simalloc.trace.statistics import Ended

if TYPE_CHECKING:
    from simalloc.measure.sites.leading import Leading


@dataclass(frozen=True, eq=False)
class SiteMap:
    """Cells over all events and addresses from 0; row 0 has the lowest addresses."""

    live: NDArray[np.float64]
    """Share of each cell's bytes and events that objects cover, 0 to 1: (rows, columns)."""
    group: NDArray[np.int64]
    """Group of code that covers most of each cell: (rows, columns)."""
    cell_events: int
    cell_bytes: float

    def coarser(self) -> SiteMap:
        """Return a map with cells of four times the area, by keeping one of every four cells."""
        return replace(
            self,
            live=self.live[::2, ::2],
            group=self.group[::2, ::2],
            cell_events=2 * self.cell_events,
            cell_bytes=2 * self.cell_bytes,
        )


class SiteDrawing:
    """A map of a run's code up to an address in bytes, which receives the stays as they end."""

    def __init__(
        self, trace: Trace, run: Run, leading: Leading, top: float, *, columns: int, rows: int
    ) -> None:
        self._frame = frame_of(run, None, (0, top), columns, rows)
        self._scale = run.scale
        self._group = leading.group[sites_of(trace)]
        self._cells = [Cells(self._frame.shape, run.scale) for _ in range(leading.groups)]

    def see(self, stays: Ended) -> None:
        """Draw the next stays."""
        group = self._group[stays.born]
        for each, cells in enumerate(self._cells):
            mine = group == each
            cells.cover(
                stays.mark[mine],
                stays.size[mine],
                stays.marked[mine],
                stays.born[mine],
                stays.died[mine],
            )

    def map(self) -> SiteMap:
        """Return the map. Call this function once, after all stays have been drawn."""
        frame = self._frame
        covered = np.empty((len(self._cells), frame.columns, frame.rows))
        born = np.empty((frame.columns, frame.rows))
        for cells, mine in zip(self._cells, covered, strict=True):
            cells.fill(mine.ravel(), born.ravel())
        return SiteMap(
            live=np.minimum(covered.sum(0).T / (frame.cell_events * frame.cell_bytes), 1.0),
            group=covered.argmax(0).T,
            cell_events=frame.cell_events,
            cell_bytes=frame.cell_bytes / self._scale,
        )
