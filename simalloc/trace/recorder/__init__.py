"""Recordings of a program's malloc calls (docs/recording.md)."""

from simalloc.trace.recorder.convert import Recorded, convert, convert_all, raw_recordings
from simalloc.trace.recorder.launch import preload_library
from simalloc.trace.recorder.live import is_attended, locked, snapshot, stop
from simalloc.trace.recorder.program import ProgramError, check_process
from simalloc.trace.recorder.raw import RawRecording, reason_of
from simalloc.trace.recorder.record import Bounds, Follower, Observer, record, recover, recoverable
from simalloc.trace.recorder.resident import Sampler
from simalloc.trace.recorder.start import HEAP_SUFFIX, Start, create_beside, write_start
from simalloc.trace.recorder.wanted import DEPTH, MAX_DEPTH, Wanted
from simalloc.trace.recorder.watch import Progress

__all__ = [
    "DEPTH",
    "HEAP_SUFFIX",
    "MAX_DEPTH",
    "Bounds",
    "Follower",
    "Observer",
    "ProgramError",
    "Progress",
    "RawRecording",
    "Recorded",
    "Sampler",
    "Start",
    "Wanted",
    "check_process",
    "convert",
    "convert_all",
    "create_beside",
    "is_attended",
    "locked",
    "preload_library",
    "raw_recordings",
    "reason_of",
    "record",
    "recover",
    "recoverable",
    "snapshot",
    "stop",
    "write_start",
]
