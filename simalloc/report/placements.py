"""Address of each object under a policy, and the state of the heap after each event, as CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from typing import TextIO

from simalloc.heap.running.setting import Setting
from simalloc.heap.watch.each_event import REFUSED, Sight, Watched


def write_placements(
    setting: Setting,
    stream: TextIO,
    *,
    every: int = 1,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Write a row for every `every`-th event and for the last one; events count from 1.

    The columns are event, address, mapped and resident bytes, the size of the largest free block if
    it is measured, and the figures that the allocator itself reports, such as
    `jemalloc.allocated`. Addresses and bytes are unscaled. An address is written as the allocator
    defines it, as `-` after an event that leaves no object, or as `x` after a refused request.
    `progress` is called with the number of events done since its last call. Raises the exceptions
    of `simulate`.
    """
    watched = Watched(setting)
    description = setting.policy.description
    name = setting.policy.name
    names = [f"{name}.{figure}" for figure in description.figure_columns(watched.names)]
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["event", "address", *_measured(setting), *names])
    done = 0
    for sight in watched.sights():
        writer.writerows(_rows(setting, watched, sight, done, every))
        done += len(sight.address)
        progress(len(sight.address))


def _rows(
    setting: Setting, watched: Watched, sight: Sight, first: int, every: int
) -> Iterator[list[object]]:
    description, scale = setting.policy.description, setting.scale
    last = len(setting.source)
    measured = _measured(setting)
    for place in range(len(sight.address)):
        event = first + place + 1
        if event % every and event != last:
            continue
        figures = dict(zip(watched.names, sight.figures[place].tolist(), strict=True))
        location = None
        address = "x" if sight.offset[place] == REFUSED else "-"
        if sight.address[place] >= 0:
            offset = _quotient(int(sight.offset[place]), scale)
            location = int(sight.region[place]), int(sight.number[place]), offset
            address = description.spell_location(*location)
        yield [
            event,
            address,
            *(_quotient(int(getattr(sight, name)[place]), scale) for name in measured),
            *description.spell_figures(figures, location),
        ]


def _measured(setting: Setting) -> list[str]:
    """Return the fields of `Sight` that are columns, all in bytes."""
    return ["mapped", "resident", *(["largest_free"] if setting.options.largest_free else [])]


def _quotient(scaled: int, scale: int) -> float:
    """Return scaled bytes as unscaled bytes, as an integer if possible."""
    return scaled / scale if scaled % scale else scaled // scale
