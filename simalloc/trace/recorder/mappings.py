"""Memory that a recorded program has mapped directly, by mapping code."""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from simalloc.trace.recorder.raw import EVERY_RECORD, RawRecording
from simalloc.trace.symbols import Names, Place

_RECORD: Final = struct.Struct("<7Q")
_PAGE: Final = os.sysconf("SC_PAGESIZE")
_ENTRY: Final = 8
_PRESENT: Final = np.uint64(3 << 62)
_ADDRESS_END: Final = 1 << 47
"""Upper bound of a program's addresses."""


class Area(NamedTuple):
    """A range of addresses with a name from the kernel, and its resident bytes."""

    start: int
    end: int
    resident: int


class Range(NamedTuple):
    """Addresses that a call at `place` has mapped."""

    start: int
    end: int
    place: Place


class _Call(NamedTuple):
    """A record of a mapping; `place` is None for an unmapped range."""

    start: int
    end: int
    place: Place | None


class OwnMappings:
    """The live mappings of a program and, by place, the calls and the mapped bytes."""

    def __init__(self) -> None:
        self.live: list[Range] = []
        """Live mappings in order of address, without overlaps."""
        self.calls: Counter[Place] = Counter()
        self.mapped: Counter[Place] = Counter()
        self.peak: dict[Place, int] = {}

    @classmethod
    def of(cls, raw: RawRecording, before: int = EVERY_RECORD) -> OwnMappings:
        """Return the program's mappings before a record."""
        found = cls()
        for call in _calls(raw, before):
            found._unmap(call.start, call.end)
            if call.place is not None:
                found._map(Range(call.start, call.end, call.place))
        return found

    def _map(self, new: Range) -> None:
        self.live.insert(bisect_left(self.live, new), new)
        self.calls[new.place] += 1
        self.mapped[new.place] += new.end - new.start
        self.peak[new.place] = max(self.peak.get(new.place, 0), self.mapped[new.place])

    def _unmap(self, start: int, end: int) -> None:
        first = bisect_left(self.live, (start,))
        if first > 0 and self.live[first - 1].end > start:
            first -= 1
        last, left = first, []
        while last < len(self.live) and self.live[last].start < end:
            old = self.live[last]
            self.mapped[old.place] -= min(old.end, end) - max(old.start, start)
            if old.start < start:
                left.append(old._replace(end=start))
            if end < old.end:
                left.append(old._replace(start=end))
            last += 1
        self.live[first:last] = left


def _calls(raw: RawRecording, before: int) -> Iterator[_Call]:
    """Yield the calls in the records before a record. The first invalid record ends them."""
    content, at = raw.mapping_records, 0
    paths: dict[int, str] = {}
    while at + _RECORD.size <= len(content):
        sequence, _, address, size, caller, offset, length = _RECORD.unpack_from(content, at)
        at += _RECORD.size
        if length > len(content) - at or address + size > _ADDRESS_END:
            return
        if length:
            paths[caller] = os.fsdecode(content[at : at + length])
        at += -(-length // _ENTRY) * _ENTRY
        if sequence < before:
            path = paths.get(caller, raw.executable)
            place = Place(path, max(offset - 1, 0)) if caller else None
            yield _Call(address, -(-(address + size) // _PAGE) * _PAGE, place)


def resident_by_place(raw: RawRecording, areas: Iterable[Area]) -> Mapping[Place, int]:
    """Return the resident bytes of the live mappings, from the kernel's view of the process.

    `areas` are the areas with resident memory. If several places mapped parts of an area, its pages
    are examined to divide the bytes.
    """
    live = OwnMappings.of(raw).live
    found: Counter[Place] = Counter()
    try:
        with Path(f"/proc/{raw.process}/pagemap").open("rb", buffering=0) as pages:
            for area in areas:
                for part in _parts(live, area):
                    whole = part.start == area.start and part.end == area.end
                    resident = area.resident if whole else _present(pages.fileno(), part)
                    found[part.place] += resident
    except OSError:
        return {}
    return found


def _parts(live: Sequence[Range], area: Area) -> list[Range]:
    """Return the mapped parts of an area. Adjacent parts of the same place are joined."""
    at = max(bisect_left(live, (area.start,)) - 1, 0)
    parts: list[Range] = []
    while at < len(live) and live[at].start < area.end:
        part = live[at]._replace(
            start=max(live[at].start, area.start), end=min(live[at].end, area.end)
        )
        if parts and parts[-1].end == part.start and parts[-1].place == part.place:
            parts[-1] = parts[-1]._replace(end=part.end)
        elif part.start < part.end:
            parts.append(part)
        at += 1
    return parts


def _present(pages: int, part: Range) -> int:
    first, end = part.start // _PAGE, part.end // _PAGE
    entries = os.pread(pages, (end - first) * _ENTRY, first * _ENTRY)
    return int((np.frombuffer(entries, np.uint64) & _PRESENT > 0).sum()) * _PAGE


def mapping_rows(
    found: OwnMappings,
    largest: Mapping[Place, int],
    last: Mapping[Place, int],
    names: Names,
) -> list[dict[str, Any]]:
    """Return rows for a trace's provenance, the place with the most resident bytes first.

    `largest` and `last` contain resident bytes at the process's maximum and at the last
    observation.
    """
    places = sorted(found.calls, key=lambda one: (-largest.get(one, 0), -found.peak[one], one))
    return [
        {
            "function": frames[0][0],
            "file": place.path,
            "calls": found.calls[place],
            "peak_mapped_bytes": found.peak[place],
            "final_mapped_bytes": found.mapped[place],
            "resident_bytes": largest.get(place, 0),
            "final_resident_bytes": last.get(place, 0),
        }
        for place, frames in zip(places, names.of(places), strict=True)
    ]
