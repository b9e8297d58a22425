"""Conversion of raw recordings to trace files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import TraceError
from simalloc.machine import circumstances
from simalloc.plural import counted
from simalloc.trace.header import Totals
from simalloc.trace.recorder.built_in import FREE_THREADED, built_in
from simalloc.trace.recorder.mappings import OwnMappings, mapping_rows
from simalloc.trace.recorder.raw import EVERY_RECORD, Counts, RawRecording, raw_files, reason_of
from simalloc.trace.recorder.resident import UNSEEN, Sample, Seen, thinned
from simalloc.trace.recorder.start import copy_heap
from simalloc.trace.recorder.unwritten import Unwritten
from simalloc.trace.shapes import ReadEvents
from simalloc.trace.stacks import stacks_entry
from simalloc.trace.symbols import Names, Place, is_named
from simalloc.trace.writer import TraceWriter

_MAGIC_BYTES: Final = 8
_MANY_RECORDS: Final = 5_000_000
_MANY_PLACES: Final = 2000
"""Number of places above which their conversion is reported, because it may take seconds."""


@dataclass(frozen=True)
class Recorded:
    """A written trace: its file, its process, and its totals.

    `is_main` marks the trace of the command itself. `unnamed` contains, by file, the number of
    places in call paths without a known function. `built_in` names an allocator in the program
    itself; its blocks are not recorded. `second_malloc` contains another library that served the
    program besides malloc's library ("" for none), and its number of allocations. `is_snapshot` is
    true while the process is still recorded. `heap` is a snapshot of the process's heap when its
    recording began.
    """

    path: Path
    process: int
    executable: str
    is_main: bool
    totals: Totals
    counts: Counts
    unnamed: Mapping[str, int] = field(default_factory=dict)
    built_in: str | None = None
    second_malloc: tuple[str, int] = ("", 0)
    is_snapshot: bool = False
    heap: Path | None = None


def report_nothing(_: str) -> None:
    """Ignore a report of work in progress."""


def give_up(error: TraceError) -> None:
    """Raise the error of a recording."""
    raise error


def raw_recordings(
    directory: Path, complain: Callable[[TraceError], None] = give_up
) -> list[RawRecording]:
    """Return the recordings in a directory in the order in which they began.

    A file is skipped if its process was killed before it wrote to the file. A damaged file is
    reported to `complain`.
    """
    recordings = []
    for path in raw_files(directory):
        if _has_begun(path):
            try:
                recordings.append(RawRecording(path))
            except TraceError as error:
                complain(error)
    return sorted(recordings, key=lambda raw: raw.started)


def _has_begun(path: Path) -> bool:
    """Return whether a file's process has written to it. Does not block."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return any(os.read(descriptor, _MAGIC_BYTES))
    finally:
        os.close(descriptor)


def convert_all(
    recordings: Sequence[RawRecording],
    output: Path,
    main_process: int,
    complain: Callable[[TraceError], None] = give_up,
    *,
    alone: bool = False,
    seen: Mapping[Path, Seen] = MappingProxyType({}),
    ended: str = "",
    before: Mapping[Path, int] = MappingProxyType({}),
    keep: bool = False,
    report: Callable[[str], None] = report_nothing,
) -> Iterator[Recorded]:
    """Write a trace for each recording, the earliest recording first, and remove the recording.

    A process that calls exec has one recording for each program. The trace of the last program of
    process `main_process` is written to `output`, and the trace of the last program of another
    process to NAME.PROCESS.npz beside it. The traces of earlier programs of a process are written
    to NAME.PROCESS.1.npz, NAME.PROCESS.2.npz ... With `alone`, only `output` is written. A damaged
    recording is kept and reported to `complain`. `seen` contains the observations of each
    recording's process from outside. `ended` is the reason for ending the recording of processes
    that still run. `before` limits recordings to the records below a number. With `keep`, all
    recordings are kept. `report` is called before work that may take seconds.
    """
    names = Names()
    last = {raw.process: raw for raw in recordings}
    images: Counter[int] = Counter()
    for raw in recordings:
        images[raw.process] += 1
        is_last = raw is last[raw.process]
        is_main = is_last and raw.process == main_process
        image = "" if is_last else f".{images[raw.process]}"
        name = f"{output.stem}.{raw.process}{image}{output.suffix}"
        if is_main or not alone:
            target = output if is_main else output.with_name(name)
            try:
                part = Part(ended=ended, seen=seen.get(raw.path, UNSEEN))
                if raw.path in before:
                    part = replace(part, before=before[raw.path], ended="snapshot")
                recorded = convert(
                    raw, target, is_main=is_main, part=part, report=report, names=names
                )
            except TraceError as error:
                complain(error)
                continue
            yield recorded
        if not keep:
            raw.path.unlink()


@dataclass(frozen=True)
class Part:
    """The records of a recording that a trace contains, and further entries of its provenance.

    The entries are the reason for ending the recording, if it was ended, and the observations of
    the process from outside.
    """

    before: int = EVERY_RECORD
    ended: str = ""
    seen: Seen = UNSEEN


WHOLE: Final = Part()


def convert(
    raw: RawRecording,
    output: Path,
    *,
    is_main: bool = True,
    part: Part = WHOLE,
    report: Callable[[str], None] = report_nothing,
    names: Names | None = None,
) -> Recorded:
    """Write the trace of one recording or of a part.

    `names` may contain the names of earlier recordings. Times never decrease in the trace. A thread
    reads the clock shortly before or after its event is ordered, so a time may be less than the
    previous time. Such a time is raised to the previous time.
    """
    resident: list[list[int]] = []
    if raw.counts.records > _MANY_RECORDS:
        report(f"writing the trace of {counted(raw.counts.records, 'record')}")
    unwritten = Unwritten.of(RawRecording(raw.path), part.before, part.seen)
    columns = raw.columns if unwritten is None else (*raw.columns, "unwritten")
    with TraceWriter(output, columns=columns, private=True) as writer:
        appender = _Appender(writer, raw.columns, unwritten)
        for sample in part.seen.samples:
            appender.append(raw.chunks(sample.records))
            resident.append([writer.events, *sample[1:]])
        appender.append(raw.chunks(part.before))
        resident = sorted([*resident, *raw.looks.tolist()])
        kept = [list(each) for each in thinned(map(Sample._make, resident))]
        names = names or Names()
        stacks = _stacks(raw, report, names) if raw.depth else {}
        totals = Totals.of(writer.table, writer.events)
        heap = copy_heap(raw.path, output)
        mapped = OwnMappings.of(raw, part.before)
        own = _built_in(raw, mapped)
        writer.provenance = {
            **_provenance(raw, part),
            **({} if own is None else {"built_in": own}),
            **_live_at_start(raw, totals),
            **({} if heap is None else {"heap_at_start": heap.name}),
            **stacks,
            **_mappings(mapped, part, names),
            **({"resident": kept} if kept else {}),
        }
    unnamed = _unnamed(raw, writer.provenance) if raw.depth else {}
    return Recorded(
        output,
        raw.process,
        raw.executable,
        is_main,
        totals,
        raw.counts,
        unnamed,
        own,
        raw.second_malloc,
        is_snapshot=part.before != EVERY_RECORD,
        heap=heap,
    )


class _Appender:
    """Adds events to a trace, with the named optional columns and the unwritten bytes.

    Times never decrease.
    """

    def __init__(
        self, writer: TraceWriter, names: Sequence[str], unwritten: Unwritten | None
    ) -> None:
        self._writer = writer
        self._names = names
        self._unwritten = unwritten
        self._latest = 0

    def append(self, chunks: Iterator[ReadEvents]) -> None:
        for chunk in chunks:
            columns = {name: chunk.columns[name] for name in self._names}
            if "time" in columns:
                columns["time"] = self._raised(columns["time"])
            if self._unwritten is not None:
                columns["unwritten"] = self._unwritten.next(len(chunk))
            self._writer.append(replace(chunk, columns=columns))

    def _raised(self, time: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the next times: at least 1, and none less than an earlier time."""
        times = np.maximum(np.maximum.accumulate(time), self._latest)
        self._latest = int(times[-1])
        return times


def _unnamed(raw: RawRecording, provenance: Mapping[str, Any]) -> Mapping[str, int]:
    named = zip(dict.fromkeys(raw.places), provenance["stacks"]["places"], strict=True)
    return Counter(
        place.path
        for place, frames in islice(named, 1, None)
        if isinstance(place, Place) and not is_named(place, frames) and Path(place.path).is_file()
    )


def _provenance(raw: RawRecording, part: Part) -> Mapping[str, Any]:
    counts = raw.counts
    is_whole = counts.lost_reason is None and part.before == EVERY_RECORD
    provenance: dict[str, Any] = {
        "recorder": "simalloc record",
        "executable": raw.executable,
        "command": raw.command,
        "process": raw.process,
        "parent_process": raw.parent,
        "malloc": raw.malloc,
        **circumstances(),
        "started": datetime.fromtimestamp(raw.started, UTC).isoformat(timespec="milliseconds"),
        "frees_of_unknown": counts.frees_of_unknown,
        "reallocs_of_unknown": counts.reallocs_of_unknown,
        "reallocs_failed": counts.reallocs_failed,
        "frees_unseen": counts.frees_unseen,
        "whole": is_whole,
    }
    if not is_whole:
        reason = counts.lost_reason
        provenance["ended"] = reason_of(reason) if reason else part.ended or "still running"
    processor = raw.processor_ended or part.seen.processor
    if processor is not None:
        provenance["cpu_seconds"] = round(max(processor - raw.processor_begun, 0), 6)
    kinds = part.seen.kinds
    if kinds:
        provenance["resident_by_kind"] = [[look.time, dict(look.kinds)] for look in kinds]
    library, allocations = raw.second_malloc
    if allocations:
        found = {"library": str(Path(library).resolve()), "allocations": allocations}
        provenance["second_malloc"] = found
    if raw.every:
        provenance["every"] = raw.every
    return provenance


def _built_in(raw: RawRecording, mapped: OwnMappings) -> str | None:
    """Return the allocator that serves a program without malloc, or None.

    The allocator may also be in a library of Python that the program loaded and that mapped memory.
    """
    pythons = {
        place.path for place in mapped.calls if Path(place.path).name.startswith("libpython")
    }
    if FREE_THREADED in map(built_in, pythons):
        return FREE_THREADED
    return built_in(raw.executable)


def _mappings(found: OwnMappings, part: Part, names: Names) -> Mapping[str, Any]:
    if not found.calls:
        return {}
    looks = [look.places for look in part.seen.kinds] or [{}]
    return {"mappings": mapping_rows(found, looks[0], looks[-1], names)}


def _live_at_start(raw: RawRecording, totals: Totals) -> Mapping[str, Any]:
    if raw.start is None:
        return {}
    start = {"objects": raw.start.objects, "bytes": raw.start.bytes}
    return {"live_at_start": {**start, "peak_live_bytes": totals.max_live_bytes}}


def _stacks(raw: RawRecording, report: Callable[[str], None], names: Names) -> Mapping[str, Any]:
    """Name the call paths.

    Places with two numbers, from a library that was loaded twice, get one number.
    """
    met = raw.places
    places = {place: number for number, place in enumerate(dict.fromkeys(met))}
    if len(places) > _MANY_PLACES:
        report(
            f"naming the functions at {counted(len(places) - 1, 'code address', 'code addresses')}"
        )
    sites = [(parent, places[met[place]]) for parent, place in raw.sites.tolist()]
    return {"depth": raw.depth, "stacks": stacks_entry(list(places), sites, names.of)}
