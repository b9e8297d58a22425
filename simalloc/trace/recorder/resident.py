"""Measurement of the memory of recorded processes from outside, while they run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from time import clock_gettime, thread_time, time_ns
from types import MappingProxyType
from typing import Final, NamedTuple, Self

from simalloc.errors import TraceError
from simalloc.trace.recorder.kinds import areas_in, kinds_in, smaps
from simalloc.trace.recorder.large import Large, unwritten_of_live
from simalloc.trace.recorder.mappings import resident_by_place
from simalloc.trace.recorder.raw import RawRecording, raw_files
from simalloc.trace.symbols import Place

SECONDS: Final = 0.01
"""Seconds between two observations."""
MAX_SAMPLES: Final = 1000
"""Maximum number of samples of a process that are kept."""

_KINDS_SECONDS: Final = 0.25
"""Minimum seconds between two observations of the kinds of memory of a process."""
_PAUSE: Final = 20
"""Minimum delay before the next observation, in multiples of an observation's own duration."""
_GROWTH: Final = 1.02
"""Growth factor after which a process's memory is observed again."""

_PROCESSOR_CLOCK: Final = 2
"""Clock of the processor time of a process; Linux derives a clock's id from the process's number
(`clock_getcpuclockid`).
"""

_PAGE: Final = os.sysconf("SC_PAGESIZE")


class Sample(NamedTuple):
    """The memory of a whole process, in bytes."""

    records: int
    """Number of records begun, or in a trace the number of events."""
    time: int
    """Nanoseconds since the recording began."""
    resident: int
    mapped: int


class Samples:
    """The samples of a process.

    When they become too many, the larger sample of each two is kept.
    """

    def __init__(self) -> None:
        self._kept: list[Sample] = []
        self._group: list[Sample] = []
        self._group_length = 1

    def add(self, sample: Sample) -> None:
        """Add a sample."""
        self._group.append(sample)
        if len(self._group) == self._group_length:
            self._kept.append(max(self._group, key=_resident))
            self._group.clear()
        if len(self._kept) == MAX_SAMPLES:
            pairs = zip(self._kept[::2], self._kept[1::2], strict=True)
            self._kept = [max(pair, key=_resident) for pair in pairs]
            self._group_length *= 2

    def kept(self) -> Sequence[Sample]:
        """Return the samples that are kept, the earliest first."""
        return [*self._kept, *([max(self._group, key=_resident)] if self._group else [])]


def thinned(samples: Iterable[Sample]) -> Sequence[Sample]:
    """Return the samples, thinned to the number that is kept."""
    kept = Samples()
    for sample in samples:
        kept.add(sample)
    return kept.kept()


class Kinds(NamedTuple):
    """The resident bytes of a process by kind, and the time in nanoseconds since its start."""

    time: int
    kinds: Mapping[str, int]
    places: Mapping[Place, int] = MappingProxyType({})
    """Resident bytes of the program's own mappings, by mapping place."""

    @property
    def resident(self) -> int:
        """Total resident bytes."""
        return sum(self.kinds.values())


class _Looks:
    """Occasional observations of a process's memory by kind.

    The largest and the last observation are kept. An observation delays calls of the process that
    map memory, and takes long if the process has much memory.
    """

    def __init__(self) -> None:
        self._largest: Kinds | None = None
        self._last: Kinds | None = None
        self._seconds = 0.0
        self.unwritten: Mapping[Large, int] = {}
        """Unwritten bytes of live large blocks at the last observation."""

    def look(self, raw: RawRecording, sample: Sample) -> None:
        """Observe the process again if an observation is due."""
        largest, last = self._largest, self._last
        pause = max(_KINDS_SECONDS, _PAUSE * self._seconds)
        if last is not None and sample.time - last.time < pause * 1e9:
            return
        is_larger = largest is None or sample.resident > largest.resident * _GROWTH
        if not is_larger and last is not None and sample.time - last.time < 1e9:
            return
        begun = thread_time()
        with suppress(TraceError):  # the reader that makes the trace reports faults of the file
            raw.refresh()
        lines = smaps(raw.process)
        if not lines:
            return
        self.unwritten = unwritten_of_live(raw) or self.unwritten
        places = resident_by_place(raw, areas_in(lines))
        self._seconds = thread_time() - begun
        self._last = Kinds(sample.time, kinds_in(lines), places)
        if largest is None or self._last.resident > largest.resident:
            self._largest = self._last

    def kept(self) -> Sequence[Kinds]:
        """Return the observation with the most resident bytes, and the last one."""
        looks = (self._largest, None if self._last is self._largest else self._last)
        return [look for look in looks if look is not None]


@dataclass(frozen=True)
class Seen:
    """Observations of a recording's process from outside.

    `samples` contains its memory, and `kinds` its memory by kind. At the last observation,
    `processor` is the used processor time in seconds, and `unwritten` contains the unwritten bytes
    of live large blocks.
    """

    samples: Sequence[Sample] = ()
    kinds: Sequence[Kinds] = ()
    processor: float | None = None
    unwritten: Mapping[Large, int] = field(default_factory=dict)

    def growth(self, later: Iterable[Sample]) -> int | None:
        """Return the process's growth in bytes since the last observation of large blocks, or None.

        `later` contains further samples. The result is None without an observation.
        """
        if not self.kinds:
            return None
        look = self.kinds[-1]
        since = [one.resident for one in (*self.samples, *later) if one.time > look.time]
        return max([0, *(resident - look.resident for resident in since)])


UNSEEN: Final = Seen()
"""Empty observations."""


def processor_seconds(process: int) -> float | None:
    """Return the used processor time of a process in seconds, or None if it has ended."""
    try:
        return clock_gettime(~process << 3 | _PROCESSOR_CLOCK)
    except OSError:
        return None


class Sampler:
    """Context in which the processes that record into a directory are sampled."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._seen_change = 0
        self._known: set[Path] = set()
        self._running: dict[int, RawRecording] = {}
        self._samples: dict[Path, Samples] = {}
        self._looks: dict[Path, _Looks] = {}
        self._processor: dict[Path, float] = {}
        self._stopped = Event()
        self._thread = Thread(target=self._work, name="sample-resident", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        self._running.clear()

    def seen(self) -> Mapping[Path, Seen]:
        """Return the observations of each recording."""
        return {
            path: Seen(
                samples.kept(),
                self._looks[path].kept(),
                self._processor.get(path),
                self._looks[path].unwritten,
            )
            for path, samples in self._samples.items()
        }

    def _work(self) -> None:
        while not self._stopped.wait(SECONDS):
            with suppress(OSError):  # the directory is gone: the recording has ended
                self._find()
            for raw in list(self._running.values()):
                self._look_at(raw)

    def _find(self) -> None:
        """Find new recordings.

        Only the last recording of a process that has called exec is followed.
        """
        folders = [self._directory, *self._directory.glob("uid.*")]
        changed = max(folder.stat().st_mtime_ns for folder in folders)
        if changed == self._seen_change:
            return
        begun = True
        for path in raw_files(self._directory):
            if path in self._known:
                continue
            try:
                raw = RawRecording(path)
            except TraceError:
                begun = False  # its header is not yet written and may never be
                continue
            self._known.add(path)
            before = self._running.get(raw.process)
            if before is None or before.started < raw.started:
                self._running[raw.process] = raw
        if begun:
            self._seen_change = changed

    def _look_at(self, raw: RawRecording) -> None:
        try:
            pages = Path(f"/proc/{raw.process}/statm").read_text("ascii").split()
        except OSError:
            pages = ["0"]
        if pages[0] == "0":  # the process has ended
            del self._running[raw.process]
            return
        since = time_ns() - round(raw.started * 1e9)
        sample = Sample(raw.counts.records, max(since, 0), *(int(n) * _PAGE for n in pages[1::-1]))
        self._samples.setdefault(raw.path, Samples()).add(sample)
        processor = processor_seconds(raw.process)
        if processor is not None:
            self._processor[raw.path] = processor
        self._looks.setdefault(raw.path, _Looks()).look(raw, sample)


def _resident(sample: Sample) -> int:
    return sample.resident
