"""Bytes of each arena at a program's end, and the bytes that trimming cannot return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simalloc.heap.running.setting import Setting
from simalloc.heap.watch.each_event import Watched
from simalloc.trace import Op, Trace


@dataclass(frozen=True)
class Held:
    """One arena by its number (0 is the main arena), in bytes at the end of a program.

    `trimmed` is the resident bytes that would remain after a call of malloc_trim(0) at the end.
    """

    arena: int
    threads: int
    system: int
    live: int
    resident: int
    trimmed: int


def with_trim(trace: Trace) -> Trace:
    """Return the trace with a call of malloc_trim(0) at its end."""
    columns = {name: np.append(values, values[:1]) for name, values in trace.columns.items()}
    return Trace.from_events(
        np.append(trace.op, Op.EMPTY),
        np.append(trace.object, -1),
        np.append(trace.size, 0),
        name=trace.name,
        provenance=trace.provenance,
        **columns,
    )


def arenas(trace: Trace, policy: str) -> Sequence[Held]:
    """Return the bytes of each arena under a model of glibc's malloc."""
    watched = Watched(Setting.of(with_trim(trace), policy, resident=True))
    regions, figures = [], []
    for sight in watched.sights():
        regions.append(sight.region)
        figures.append(sight.figures[-2:])
    end, after = np.concatenate(figures)[-2:].tolist()
    live = _live(trace, np.concatenate(regions))
    at_end, trimmed = (dict(zip(watched.names, each, strict=True)) for each in (end, after))
    return [
        Held(
            number,
            at_end[f"attached.{number}"],
            at_end[f"system.{number}"],
            live.get(number, 0),
            at_end[f"resident.{number}"],
            trimmed[f"resident.{number}"],
        )
        for number in range(at_end["arenas"])
    ]


def _live(trace: Trace, region: np.ndarray) -> dict[int, int]:
    """Return the live bytes at the end by arena; `region` is the arena of each event's object."""
    touches = np.flatnonzero(trace.object >= 0)
    last = np.full(int(trace.object.max(initial=-1)) + 1, -1)
    last[trace.object[touches]] = touches
    last = last[trace.op[last] != Op.FREE]
    return {
        int(number): int(trace.size[last[region[last] == number]].sum())
        for number in np.unique(region[last])
    }
