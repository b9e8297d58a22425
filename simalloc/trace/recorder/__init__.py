"""Record what a program asks of malloc (docs/recording.md)."""

from simalloc.trace.recorder.convert import Recorded, convert
from simalloc.trace.recorder.live import is_attended, snapshot, stop
from simalloc.trace.recorder.program import ProgramError
from simalloc.trace.recorder.raw import RawRecording, reason_of
from simalloc.trace.recorder.record import Bounds, record, recover
from simalloc.trace.recorder.wanted import DEPTH, MOST_DEPTH, Wanted
from simalloc.trace.recorder.watch import Progress

__all__ = [
    "DEPTH",
    "MOST_DEPTH",
    "Bounds",
    "ProgramError",
    "Progress",
    "RawRecording",
    "Recorded",
    "Wanted",
    "convert",
    "is_attended",
    "reason_of",
    "record",
    "recover",
    "snapshot",
    "stop",
]
