"""Runs test programs under the recorder, and reads their own records."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from simalloc.trace import Op
from simalloc.trace.recorder import RawRecording, Wanted
from simalloc.trace.recorder.convert import raw_recordings
from simalloc.trace.recorder.launch import preload_library, start
from simalloc.trace.recorder.wanted import EVENTS
from simalloc.trace.shapes import ReadEvents

PROGRAMS = Path(__file__).with_name("programs")
MARK = 1234567
LETTERS = {Op.MALLOC: "m", Op.CALLOC: "c", Op.FREE: "f", Op.REALLOC: "r", Op.THREAD_END: "x"}

Event = tuple[str, int, int, int]


def compile_program(source: str, directory: Path, *flags: str) -> Path:
    """Compile a program of the folder `programs`; skip the test without a compiler."""
    compiler = "c++" if source.endswith(".cc") else "cc"
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    path = directory / source.rpartition(".")[0]
    command = [compiler, "-O1", "-fno-builtin", "-Wall", "-Wextra", "-Werror", "-pthread"]
    subprocess.run([*command, "-o", path, PROGRAMS / source, *flags, "-ldl"], check=True)
    return path


@dataclass(frozen=True)
class Run:
    """Exit code, output and recordings of a recorded program."""

    code: int
    output: str
    errors: str
    raws: list[RawRecording]

    @property
    def raw(self) -> RawRecording:
        """The only recording."""
        (raw,) = self.raws
        return raw


def run_recorded(command: Sequence[str | Path], directory: Path, wanted: Wanted = EVENTS) -> Run:
    """Run a program to completion, recording into `directory`."""
    directory.mkdir(mode=0o700, exist_ok=True)
    words = [str(word) for word in command]
    with preload_library() as library:
        process = start(
            words, library, directory, wanted, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        output, errors = process.communicate()
    return Run(process.returncode, output.decode(), errors.decode(), raw_recordings(directory))


def read_all(raw: RawRecording) -> ReadEvents:
    """Return all events of a recording in one chunk."""
    chunks = list(raw.chunks())
    assert chunks, "there are no events"
    return ReadEvents(
        *(np.concatenate([getattr(one, name) for one in chunks]) for name in ("op", "key", "size")),
        columns={
            name: np.concatenate([one.columns[name] for one in chunks])
            for name in chunks[0].columns
        },
    )


def events_of(events: ReadEvents, thread: int | None = None) -> list[Event]:
    """Return events in the test programs' format, of one thread or of all."""
    some = events if thread is None else events.taken(events.columns["thread"] == thread)
    columns = (some.op, some.columns["address"], some.size, some.columns["alignment"])
    return [
        (LETTERS[Op(op)], address, size, alignment)
        for op, address, size, alignment in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]


def between_marks(events: list[Event]) -> list[Event]:
    """Return the events between the allocation and the free of the marking block."""
    begin = next(i for i, event in enumerate(events) if event[0] == "m" and event[2] == MARK)
    address = events[begin][1]
    end = next(i for i, event in enumerate(events) if i > begin and event[:2] == ("f", address))
    return events[begin + 1 : end]


def said_by(output: str) -> list[Event]:
    """Return the events in a program's account."""
    events = []
    for line in output.splitlines():
        letter, *numbers = line.split()
        address, size, alignment = map(int, numbers)
        events.append((letter, address, size, alignment))
    return events


def assert_nothing_missing(raw: RawRecording) -> None:
    """Check that all records were read and are consistent."""
    counts = raw.counts
    assert counts.read == counts.records
    assert counts.frees_of_unknown == 0
    assert counts.reallocs_of_unknown == 0
    assert counts.frees_unseen == 0
    assert counts.lost_reason is None
