"""End of the recording of a running process. Only the loaded library stays in the process."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Final

from simalloc.process.attach.held import Held
from simalloc.process.attach.load import LIBRARY
from simalloc.process.attach.loaded import LoadedObject
from simalloc.process.live import LiveProcess
from simalloc.process.target import ProcessError

_TRIES: Final = 200
"""Maximum number of stops to end a recording."""
_WAIT: Final = 0.002
"""Seconds between two stops."""
_RAW: Final = re.compile(r"(\d+)\.\d+\.raw$")


def process_of(directory: Path) -> int | None:
    """Return the number of the attached process that records into a folder, or None."""
    for path in directory.glob("*.raw"):
        named = _RAW.search(path.name)
        if named and _records_into(int(named[1]), path.name):
            return int(named[1])
    return None


def detach(number: int) -> None:
    """Redirect a process's malloc calls back to its allocator, and close its recording.

    The call has no effect if the process has ended. Raises `ProcessError` on failure.
    """
    try:
        _detach(LiveProcess(number))
    except (ProcessError, FileNotFoundError, ProcessLookupError):
        if _has_memory(number):
            raise


def _detach(process: LiveProcess) -> None:
    recorders = [
        LoadedObject(process, one.start, one.path)
        for one in process.mappings()
        if one.offset == 0 and one.path.rpartition("/")[2].startswith(LIBRARY)
    ]
    if not recorders:
        return
    held = Held(process)
    for recorder in recorders:
        for _ in range(_TRIES):
            if _end(held, recorder):
                break
            time.sleep(_WAIT)
        else:
            raise ProcessError(
                f"{process.name} was stopped {_TRIES} times, and each time a signal handler had "
                "interrupted the recorder. Try again"
            )


def _end(held: Held, recorder: LoadedObject) -> bool:
    """End a recording, unless a signal handler has interrupted a thread that records."""
    with held.hold(everyone=True):
        held.call(recorder.function("simalloc_detach"))
        threads = held.place_pointers(held.thread_pointers())
        return held.call(recorder.function("simalloc_end"), *threads, alone=True) == 0


def _has_memory(number: int) -> bool:
    """Return whether a process has not ended and is not ending."""
    try:
        return Path(f"/proc/{number}/statm").read_text("ascii").split()[0] != "0"
    except OSError:
        return False


def _records_into(number: int, name: str) -> bool:
    """Return whether a library loaded late has mapped a recording of this name in a process."""
    try:
        text = Path(f"/proc/{number}/maps").read_text("utf-8", "surrogateescape")
    except OSError:
        return False
    return f"/{name}\n" in text and f"/{LIBRARY}" in text
