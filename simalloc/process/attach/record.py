"""Recording of a process that is already running."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final, Protocol

from simalloc.process.attach.detach import detach
from simalloc.process.attach.load import Begun, attach, check_unrecorded
from simalloc.process.attach.place import Place, make_place
from simalloc.process.live import LiveProcess
from simalloc.trace.recorder import (
    Bounds,
    Follower,
    Observer,
    Recorded,
    Sampler,
    Wanted,
    check_process,
    convert_all,
    locked,
    raw_recordings,
    recoverable,
)

_LOOK_SECONDS: Final = 0.1
_INTERRUPTED: Final = "on Ctrl-C"


class ProcessObserver(Observer, Protocol):
    """Receives the events of a process's recording."""

    def begun(self, begun: Begun, folder: str) -> None:
        """Receive the start of the recording and the folder of its raw files. Called once."""


@dataclass
class _Interruption:
    """Records whether a signal has requested the end of the recording."""

    asked: bool = False

    def __call__(self, _: int, __: FrameType | None) -> None:
        self.asked = True


def record_process(
    number: int, output: Path, observer: ProcessObserver, *, wanted: Wanted, bounds: Bounds
) -> Sequence[Recorded]:
    """Record a running process and write its trace.

    The recording ends when the process ends, when one of the `bounds` is reached, when `live.stop`
    requests it, or on SIGINT or SIGTERM. The process then continues without the recorder. The trace
    begins with the blocks that were live at the beginning. Raises `ProcessError` or `ProgramError`
    if the process cannot be recorded, and `SimallocError` if the trace cannot be written.
    """
    process = LiveProcess(number)
    process.check_access()
    check_process(number)
    check_unrecorded(process)
    with ExitStack() as stack:
        interruption = stack.enter_context(_interruptions())
        place = make_place(process, output)
        stack.enter_context(locked(place.path))
        try:
            begun = attach(process, place, wanted)
        except BaseException:
            place.remove()
            raise
        try:
            observer.begun(begun, place.shown)
            with Sampler(place.path) as sampler:
                ended = _follow(place, observer, bounds, interruption)
        finally:
            detach(number)
        with recoverable(Path(place.shown), output):
            recorded = list(
                convert_all(
                    raw_recordings(place.path),
                    output,
                    number,
                    seen=sampler.seen(),
                    ended=ended,
                    report=observer.working,
                )
            )
        place.remove()
    return recorded


def _follow(place: Place, observer: Observer, bounds: Bounds, interruption: _Interruption) -> str:
    """Watch a recording until it ends. Return the reason, or "" if its process has ended."""
    began = time.monotonic()
    follower = Follower(place.path, observer)
    follower.look()
    while follower.runs:
        ended = bounds.reached(time.monotonic() - began, place.path)
        if interruption.asked:
            ended = _INTERRUPTED
        if ended:
            observer.ended(ended)
            return ended
        time.sleep(_LOOK_SECONDS)
        follower.look()
    return ""


@contextmanager
def _interruptions() -> Iterator[_Interruption]:
    """Store signals that would end this process, instead of ending immediately."""
    interruption, before = _Interruption(), {}
    handler: Any = interruption
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before[number] = signal.signal(number, handler)
    try:
        yield interruption
    finally:
        for number, old in before.items():
            signal.signal(number, old)
