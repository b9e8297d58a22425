"""Recordings that are still being made: snapshots of them, and their end on request."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from simalloc.errors import TraceError
from simalloc.trace.recorder.convert import Recorded, convert_all, raw_recordings, report_nothing
from simalloc.trace.recorder.large import unwritten_of_live
from simalloc.trace.recorder.raw import RawRecording, is_running
from simalloc.trace.recorder.resident import Seen, processor_seconds

ASKED: Final = "asked"
"""Name of the file that requests the end of the recording in a folder."""

_SETTLE_SECONDS: Final = 0.2
"""Time after which threads have written the records whose numbers they had taken."""


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Prevent other processes from making traces of the recordings in a directory.

    Raises `TraceError` if another process, the command that records them, is already doing so.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _alive("the command that records it is still running", directory) from None
    else:
        yield
    finally:
        os.close(descriptor)


def check_ended(directory: Path, recordings: Sequence[RawRecording]) -> None:
    """Raise `TraceError` if a process still records."""
    for raw in recordings:
        if raw.counts.lost_reason is None and is_running(raw):
            raise _alive(f"process {raw.process} is still being recorded", directory)


def _alive(what: str, directory: Path) -> TraceError:
    return TraceError(
        (
            f"{what}; `simalloc record --snapshot {directory} -o TRACE` writes the trace so "
            f"far, and `simalloc record --stop {directory}` ends the recording"
        ),
        path=directory,
    )


def snapshot(
    directory: Path,
    output: Path,
    *,
    alone: bool = False,
    report: Callable[[str], None] = report_nothing,
) -> Sequence[Recorded]:
    """Write traces of the recordings in a directory so far, and leave the recordings unchanged.

    The process that began first is assumed to be the command itself. Raises `TraceError` for a
    missing or damaged recording.
    """
    recordings = raw_recordings(directory)
    if not recordings:
        raise TraceError("the folder contains no raw recordings", path=directory)
    main = recordings[0].process
    before = {raw.path: raw.counts.records for raw in recordings if is_running(raw)}
    time.sleep(_SETTLE_SECONDS if before else 0)
    for raw in recordings:
        raw.refresh()
    running = [raw for raw in recordings if raw.path in before]
    seen = {
        raw.path: Seen(processor=processor_seconds(raw.process), unwritten=unwritten_of_live(raw))
        for raw in running
    }
    written = convert_all(
        recordings, output, main, alone=alone, seen=seen, before=before, keep=True, report=report
    )
    return list(written)


def stop(directory: Path) -> Sequence[int]:
    """End the recordings in a directory, and return the processes that were recorded until now.

    The processes continue. The command that records them then writes their traces. Raises
    `TraceError` if the directory has no recording.
    """
    recordings = raw_recordings(directory)
    if not recordings:
        raise TraceError("the folder contains no raw recordings", path=directory)
    running = [raw for raw in recordings if is_running(raw)]
    (directory / ASKED).touch(mode=0o600)
    for raw in running:
        raw.stop()
    return [raw.process for raw in running]


def is_attended(directory: Path) -> bool:
    """Return whether the command that records into a directory still runs."""
    try:
        with locked(directory):
            return False
    except TraceError:
        return True
