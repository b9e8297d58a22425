"""Where a policy puts each object, and what the heap has then, as CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from typing import TextIO

from simalloc.heap.running.setting import Setting
from simalloc.heap.watch.each_event import Sight, Watched


def write_placements(
    setting: Setting,
    stream: TextIO,
    *,
    every: int = 1,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Write a row for each event, or each one in `every` and the last; events count from 1.

    The columns are event, address (in the allocator's own terms; - where the event leaves no
    object), mapped and resident bytes, and then what the allocator itself reports, by its own
    names. `progress` is called with the number of events done since its last call. Raises as
    `simulate` does.
    """
    watched = Watched(setting)
    description = setting.policy.description
    names = description.figure_columns(watched.names)
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["event", "address", "mapped", "resident", *names])
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
    for place in range(len(sight.address)):
        event = first + place + 1
        if event % every and event != last:
            continue
        location = (int(sight.region[place]), int(sight.number[place]), int(sight.offset[place]))
        has_object = sight.address[place] >= 0
        address = description.spell_location(*location) if has_object else "-"
        figures = dict(zip(watched.names, sight.figures[place].tolist(), strict=True))
        yield [
            event,
            address,
            int(sight.mapped[place]) // scale,
            int(sight.resident[place]) // scale,
            *description.spell_figures(figures, location if has_object else None),
        ]
