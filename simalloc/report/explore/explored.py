"""Data of the explorer on one run: windows of the heap map, blocks, and pinning objects."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor
from typing import Any, Final, TypeAlias

from simalloc.heap import Run
from simalloc.measure import Atlas, HeapMap, Pin, fragmentation, pins
from simalloc.measure.sites.frames import short_name
from simalloc.policy import spell
from simalloc.report.apart import beside
from simalloc.report.browser.cells import AGE_DECADES, cells, packed, raster
from simalloc.report.units import spell_percent
from simalloc.trace import Trace

OVERVIEW: Final = (800, 400)
"""Columns and rows of the first map, which shows the whole run."""
_MAX_CELLS: Final = 4096
"""Maximum number of columns and of rows of a window that a script requests."""
_LEVEL: Final = 1
"""Compression level of the overview: fast, and small enough for a saved notebook."""

Answer: TypeAlias = tuple[dict[str, Any], list[bytes]]


@dataclass(frozen=True, eq=False)
class Explored:
    """One trace under one policy. Its methods answer the queries of the script."""

    trace: Trace
    atlas: Atlas

    @property
    def run(self) -> Run:
        """Run of the trace under the policy."""
        return self.atlas.run

    @cached_property
    def overview(self) -> HeapMap:
        """Map of the whole run."""
        columns, rows = OVERVIEW
        return self.atlas.window(columns=columns, rows=rows)

    def state(self, oldest: float, top: float) -> dict[str, Any]:
        """Return the initial data of the script. Compared maps share the scales."""
        return {
            "policy": spell(self.run.policy),
            "caption": beside(
                self.overview,
                f"peak heap {spell_percent(fragmentation(self.run)[4])} more than peak live",
            ),
            "events": self.run.events,
            "top": top,
            "oldest": oldest,
            "decades": AGE_DECADES,
            "raster": raster(self.overview),
            "cells": packed(cells(self.overview, oldest), _LEVEL),
        }

    def window(
        self, left: float, right: float, low: float, high: float, columns: int, rows: int,
        oldest: float,
    ) -> Answer:  # fmt: skip
        """Return the cells of the part of a window that is inside the map."""
        most = self.run.events
        first = min(max(floor(left), 0), most)
        last = min(max(ceil(right), first), most)
        lowest = min(max(low, 0.0), self.atlas.height)
        highest = min(max(high, lowest), self.atlas.height)
        shown = self.atlas.window(
            events=(first, last),
            addresses=(lowest, highest),
            columns=min(max(columns, 1), _MAX_CELLS),
            rows=min(max(rows, 1), _MAX_CELLS),
        )
        return {"raster": raster(shown)}, [cells(shown, oldest)]

    def block(self, event: float, address: float, near: float) -> Answer:
        """Return the data on the block at a point or near it."""
        when = min(max(floor(event), 0), max(self.run.events - 1, 0))
        place = self.atlas.at(when, address, near)
        if place is None:
            return {"block": None}, []
        stays = self.atlas.stays
        since, born = int(stays.since[place]), int(stays.birth[place])
        block = {
            "object": int(stays.object[place]),
            "address": float(stays.address[place]),
            "size": int(stays.requested[place]),
            "since": since,
            "until": int(stays.until[place]),
            "age": when - born,
            "site": self._site(since),
        }
        return {"block": block}, []

    def pins(self) -> Answer:
        """Return the objects that pin the heap at its first peak, the worst object first."""
        if not self.run.events:
            return {"event": 0, "heap": 0, "live": 0, "free": 0, "pins": []}, []
        found = pins(self.trace, self.run, apart=self.atlas.folding is not None)
        return {
            "event": found.event,
            "heap": found.heap_bytes,
            "live": found.live_bytes,
            "free": found.free_bytes,
            "pins": [self._pin(pin, found.event) for pin in found.alone if pin.holds],
        }, []

    def _pin(self, pin: Pin, event: int) -> dict[str, Any]:
        position = self.atlas.position(pin.address)
        place = self.atlas.at(event, position)
        return {
            "object": pin.object,
            "address": position,
            "size": pin.requested,
            "since": pin.since,
            "until": self.run.events if place is None else int(self.atlas.stays.until[place]),
            "age": pin.age,
            "site": pin.place,
            "below": pin.free_below,
            "above": pin.free_above,
        }

    def _site(self, event: int) -> str | None:
        if self.trace.site is None:
            return None
        return short_name(self.trace.provenance, int(self.trace.site[event]))
