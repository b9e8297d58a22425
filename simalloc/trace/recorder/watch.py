"""Observes the recordings of running processes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from simalloc.errors import TraceError
from simalloc.trace.recorder.raw import RawRecording, is_running, raw_files


@dataclass(frozen=True)
class Progress:
    """Progress of a recording: number of events, and live bytes of the running `processes`."""

    events: int
    live_bytes: int
    processes: int


@dataclass
class _Watched:
    raw: RawRecording
    running: bool = True
    events: int = 0
    records: int = 0

    def look(self, *, count: bool) -> None:
        self.running = is_running(self.raw)
        self.raw.refresh()
        if count:
            self.events += sum(map(len, self.raw.chunks(self.records)))
        self.records = self.raw.counts.records


def processes_of(directory: Path) -> list[int]:
    """Return the running processes that record into this directory or may begin to record.

    A forked child begins at its first allocation and maps its parent's file until then. A program
    that has just started has the directory in its environment.
    """
    name = os.fsencode(directory)
    return [
        int(process.name)
        for process in Path("/proc").iterdir()
        if process.name.isdigit()
        and any(name in _content(process / file) for file in ("maps", "environ"))
        and int(process.name) != os.getpid()
    ]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # the process has ended or belongs to another user


class Watch:
    """Follows the raw recordings in a directory. With `count`, reads them as they grow."""

    def __init__(self, directory: Path, *, count: bool) -> None:
        self._directory = directory
        self._count = count
        self._watched: dict[Path, _Watched] = {}
        self._ended: set[Path] = set()
        self._ended_events = 0

    @property
    def running(self) -> list[RawRecording]:
        """The recordings whose processes were running at the last call of `look`."""
        return [watched.raw for watched in self._watched.values()]

    def look(self) -> Progress:
        """Examine every recording that may have grown."""
        for path in raw_files(self._directory):
            if path not in self._watched and path not in self._ended:
                self._find(path)
        for path, watched in list(self._watched.items()):
            watched.look(count=self._count)
            if not watched.running:
                watched.look(count=self._count)
                self._ended_events += watched.events
                self._ended.add(path)
                del self._watched[path]
        return Progress(
            self._ended_events + sum(watched.events for watched in self._watched.values()),
            sum(watched.raw.counts.live_bytes for watched in self._watched.values()),
            len(self._watched),
        )

    def _find(self, path: Path) -> None:
        try:
            self._watched[path] = _Watched(RawRecording(path))
        except TraceError:
            return  # its header is not yet written and may never be
