"""Runs a command and records what it asks of malloc."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from simalloc.errors import SimallocError, TraceError
from simalloc.files import naming
from simalloc.trace.recorder.convert import Recorded, convert_all, raw_recordings
from simalloc.trace.recorder.launch import Signals, preload_library, start
from simalloc.trace.recorder.raw import RawRecording
from simalloc.trace.recorder.resident import Sampler
from simalloc.trace.recorder.wanted import EVENTS, Wanted
from simalloc.trace.recorder.watch import Progress, Watch, processes_of

_LOOK_SECONDS: Final = 0.5
_SIGNALLED: Final = 128


class Observer(Protocol):
    """Is told what happens while a command is recorded."""

    wants_progress: bool

    def progress(self, progress: Progress) -> None:
        """Told twice a second, if `wants_progress`."""

    def waiting(self, processes: Sequence[int]) -> None:
        """Told once if the command has ended and processes that it started have not."""

    def lost(self, raw: RawRecording) -> None:
        """Told once a process if its recording ends before the process does."""

    def working(self, what: str) -> None:
        """Told what is being done after the command has ended, if that may take seconds."""


@dataclass(frozen=True)
class Outcome:
    """How the command ended, as a shell says it, and the traces that were written."""

    exit_code: int
    recorded: Sequence[Recorded]


def record(
    command: Sequence[str],
    output: Path,
    observer: Observer,
    *,
    wanted: Wanted = EVENTS,
    wait: bool = True,
    alone: bool = False,
) -> Outcome:
    """Run `command` and write a trace of it and, unless `alone`, of each process that it starts.

    With `wait`, processes that the command leaves running are waited for until we are interrupted;
    otherwise their traces end when the command does.

    Raises `ProgramError` if the command cannot be recorded; `SimallocError` if the traces cannot be
    written, and then says where the raw recordings are.
    """
    prefix, parent = f"{output.stem}.", output.resolve().parent
    with naming(output):
        directory = Path(tempfile.mkdtemp(prefix=prefix, suffix=".recording", dir=parent))
    try:
        with Sampler(directory) as sampler:
            process = _run(command, directory, observer, wanted, wait=wait)
    except BaseException:
        _remove_if_empty(directory)
        raise
    with _recoverable(directory, output):
        recordings = raw_recordings(directory)
        recorded = list(
            convert_all(
                recordings,
                output,
                process.pid,
                alone=alone,
                samples=sampler.samples(),
                tell=observer.working,
            )
        )
    shutil.rmtree(directory)
    code = process.returncode
    return Outcome(_SIGNALLED - code if code < 0 else code, recorded)


@dataclass(frozen=True)
class Recovered:
    """The traces that were written, and what is wrong with the recordings that stay."""

    recorded: Sequence[Recorded]
    damaged: Sequence[TraceError]


def recover(directory: Path, output: Path, *, alone: bool = False) -> Recovered:
    """Write the traces of a directory of raw recordings that was left behind, as `record` does.

    The command itself is taken to be the process that began first. A recording that is damaged
    stays, and does not keep the others from becoming traces.
    """
    damaged: list[TraceError] = []
    with _recoverable(directory, output):
        recordings = raw_recordings(directory, damaged.append)
        main = recordings[0].process if recordings else 0
        recorded = list(convert_all(recordings, output, main, damaged.append, alone=alone))
    if not recordings and not damaged:
        raise TraceError("there are no raw recordings here", path=directory)
    if not damaged:
        shutil.rmtree(directory)
    return Recovered(recorded, damaged)


def _run(
    command: Sequence[str],
    directory: Path,
    observer: Observer,
    wanted: Wanted,
    *,
    wait: bool,
) -> subprocess.Popen[bytes]:
    with ExitStack() as stack:
        library = stack.enter_context(preload_library())
        signals = stack.enter_context(Signals())
        process = start(command, library, directory, wanted)
        signals.leave_to(process)
        follower = _Follower(directory, observer)
        while _runs(process):
            follower.look()
        signals.ended = True
        processes = processes_of(directory) if wait else []
        if processes:
            observer.waiting(processes)
        while processes and not signals.interrupted:
            time.sleep(_LOOK_SECONDS)
            follower.look()
            processes = processes_of(directory)
        follower.stop()
    return process


def _runs(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_LOOK_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


class _Follower:
    """Tells an observer what a watch sees."""

    def __init__(self, directory: Path, observer: Observer) -> None:
        self._observer = observer
        self._watch = Watch(directory, count=observer.wants_progress)
        self._lost: set[Path] = set()

    def look(self) -> None:
        progress = self._watch.look()
        if self._observer.wants_progress:
            self._observer.progress(progress)
        for raw in self._watch.running:
            if raw.counts.lost_reason is not None and raw.path not in self._lost:
                self._lost.add(raw.path)
                self._observer.lost(raw)

    def stop(self) -> None:
        self.look()
        for raw in self._watch.running:
            raw.stop()


@contextmanager
def _recoverable(directory: Path, output: Path) -> Iterator[None]:
    """Say in every error where the raw recordings are, and how to make traces of them."""
    try:
        yield
    except (SimallocError, OSError, KeyboardInterrupt) as error:
        raise SimallocError(
            f"the trace could not be written: {error or 'interrupted'}; what was recorded is kept, "
            f"and `simalloc record --recover {directory} -o {output}` writes it"
        ) from error


def _remove_if_empty(directory: Path) -> None:
    with suppress(OSError):
        directory.rmdir()
