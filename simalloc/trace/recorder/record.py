"""Runs a command and records its malloc calls."""

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
from simalloc.trace.recorder.live import ASKED, check_ended, locked
from simalloc.trace.recorder.raw import RawRecording, raw_files
from simalloc.trace.recorder.resident import Sampler
from simalloc.trace.recorder.wanted import EVENTS, Wanted
from simalloc.trace.recorder.watch import Progress, Watch, processes_of

_LOOK_SECONDS: Final = 0.5
_BOUNDED_SECONDS: Final = 0.05
_SIGNALLED: Final = 128


class Observer(Protocol):
    """Receives the events of a recording."""

    wants_progress: bool

    def progress(self, progress: Progress) -> None:
        """Receive the progress twice per second if `wants_progress`."""

    def waiting(self, processes: Sequence[int]) -> None:
        """Receive, once, the processes that still run after the command has ended."""

    def lost(self, raw: RawRecording) -> None:
        """Receive a recording that failed before its process ended."""

    def working(self, what: str) -> None:
        """Receive a description of work after the command's end that may take seconds."""

    def ended(self, why: str) -> None:
        """Receive, once, the reason why the recording ends before the command."""

    def waiting_for_command(self, recorded: Sequence[Recorded]) -> None:
        """Receive the traces if the command continues without being recorded."""


@dataclass(frozen=True)
class Bounds:
    """Limits of a recording in seconds and in bytes of raw recordings, or None for no limit."""

    seconds: float | None = None
    bytes: int | None = None

    def reached(self, seconds: float, directory: Path) -> str:
        """Return the reason to end the recording now, or "" to continue."""
        if (directory / ASKED).exists():
            return "on demand"
        if self.seconds is not None and seconds >= self.seconds:
            return f"after {self.seconds:g} s"
        if self.bytes is not None:
            used = sum(path.stat().st_size for path in raw_files(directory))
            if used >= self.bytes:
                return f"at {used:,} raw bytes"
        return ""


UNBOUNDED: Final = Bounds()


@dataclass(frozen=True)
class Outcome:
    """Exit code of the command, as a shell reports it, and the traces that were written.

    `signal` is the number of the signal that ended the command, or 0.
    """

    exit_code: int
    recorded: Sequence[Recorded]
    signal: int = 0


def record(
    command: Sequence[str],
    output: Path,
    observer: Observer,
    *,
    wanted: Wanted = EVENTS,
    bounds: Bounds = UNBOUNDED,
    wait: bool = True,
    alone: bool = False,
) -> Outcome:
    """Run `command` and write a trace of it and, unless `alone`, of each process that it starts.

    The recording ends when the command ends, when one of the `bounds` is reached, or when
    `live.stop` requests it. In the last two cases, the traces are written while the command
    continues. With `wait`, the call waits for processes that the command leaves running until it is
    interrupted. Without `wait`, their traces end when the command ends.

    Raises `ProgramError` if the command cannot be recorded. Raises `SimallocError`, with the
    location of the raw recordings, if the traces cannot be written.
    """
    prefix, parent = f"{output.stem}.", output.resolve().parent
    with naming(output):
        directory = Path(tempfile.mkdtemp(prefix=prefix, suffix=".recording", dir=parent))
    with ExitStack() as stack:
        stack.enter_context(locked(directory))
        signals = stack.enter_context(Signals())
        try:
            library = stack.enter_context(preload_library())
            with Sampler(directory) as sampler:
                process = start(command, library, directory, wanted)
                signals.leave_to(process)
                recording = _Recording(process, directory, observer, bounds)
                ended = recording.watch(signals, wait=wait)
        except BaseException:
            _remove_if_empty(directory)
            raise
        if process.returncode is not None:
            signals.leave()
        with recoverable(directory, output):
            recorded = list(
                convert_all(
                    raw_recordings(directory),
                    output,
                    process.pid,
                    alone=alone,
                    seen=sampler.seen(),
                    ended=ended,
                    report=observer.working,
                )
            )
        _remove(directory)
        if process.poll() is None:
            observer.waiting_for_command(recorded)
            process.wait()
    ending = max(-process.returncode, 0)
    return Outcome(_SIGNALLED + ending if ending else process.returncode, recorded, ending)


@dataclass(frozen=True)
class Recovered:
    """The traces that were written, and the faults of the recordings that were kept."""

    recorded: Sequence[Recorded]
    damaged: Sequence[TraceError]


def recover(directory: Path, output: Path, *, alone: bool = False) -> Recovered:
    """Write the traces of raw recordings in a directory that was left behind.

    The process that began first is assumed to be the command itself. A damaged recording is kept,
    and the other recordings are still converted. Raises `TraceError` and changes nothing if a
    process is still recorded.
    """
    damaged: list[TraceError] = []
    with locked(directory):
        recordings = raw_recordings(directory, damaged.append)
        check_ended(directory, recordings)
        with recoverable(directory, output):
            main = recordings[0].process if recordings else 0
            recorded = list(convert_all(recordings, output, main, damaged.append, alone=alone))
    if not recordings and not damaged:
        raise TraceError("the folder contains no raw recordings", path=directory)
    if not damaged:
        _remove(directory)
    return Recovered(recorded, damaged)


class _Recording:
    """A command that runs and is recorded."""

    def __init__(
        self, process: subprocess.Popen[bytes], directory: Path, observer: Observer, bounds: Bounds
    ) -> None:
        self._process = process
        self._directory = directory
        self._observer = observer
        self._bounds = bounds
        self._begun = time.monotonic()
        self._follower = Follower(directory, observer)

    def watch(self, signals: Signals, *, wait: bool) -> str:
        """Watch the command until the recording ends.

        Return the reason, or "" if its programs have ended. With `wait`, the call waits for
        processes that the command leaves running until it is interrupted.
        """
        ended = ""
        while not ended and self._runs():
            self._follower.look()
            ended = self._reached()
        if ended:
            self._observer.ended(ended)
        else:
            signals.ended = True
            ended = self._watch_rest(signals) if wait else ""
        self._follower.stop()
        return ended

    def _watch_rest(self, signals: Signals) -> str:
        processes = processes_of(self._directory)
        if processes:
            self._observer.waiting(processes)
        ended = ""
        while processes and not signals.interrupted and not ended:
            time.sleep(self._seconds)
            self._follower.look()
            processes = processes_of(self._directory)
            ended = self._reached()
        return ended

    @property
    def _seconds(self) -> float:
        return _LOOK_SECONDS if self._bounds == UNBOUNDED else _BOUNDED_SECONDS

    def _reached(self) -> str:
        return self._bounds.reached(time.monotonic() - self._begun, self._directory)

    def _runs(self) -> bool:
        try:
            self._process.wait(self._seconds)
        except subprocess.TimeoutExpired:
            return True
        return False


class Follower:
    """Reports the observations of a watch to an observer."""

    def __init__(self, directory: Path, observer: Observer) -> None:
        self._observer = observer
        self._watch = Watch(directory, count=observer.wants_progress)
        self._lost: set[Path] = set()

    @property
    def runs(self) -> bool:
        """True if a process was still recording at the last observation."""
        return bool(self._watch.running)

    def look(self) -> None:
        """Observe the recordings and report the observations."""
        progress = self._watch.look()
        if self._observer.wants_progress:
            self._observer.progress(progress)
        for raw in self._watch.running:
            if raw.counts.lost_reason and raw.path not in self._lost:
                self._lost.add(raw.path)
                self._observer.lost(raw)

    def stop(self) -> None:
        """Observe again, and end the recordings that still run."""
        self.look()
        for raw in self._watch.running:
            raw.stop()


@contextmanager
def recoverable(directory: Path, output: Path) -> Iterator[None]:
    """Add to every error the location of the raw recordings and the command that converts them."""
    try:
        yield
    except (SimallocError, OSError, KeyboardInterrupt) as error:
        raise SimallocError(
            f"the trace could not be written: {error or 'interrupted'}. The recording is kept, "
            f"and `simalloc record --recover {directory} -o {output}` writes it"
        ) from error


def _remove(directory: Path) -> None:
    """Remove a directory in which programs that still run may begin recordings at any time.

    The directory is renamed first. These programs do not find the old name and are not recorded.
    """
    removed = directory.with_name(f"{directory.name}.removed")
    directory.rename(removed)
    shutil.rmtree(removed)


def _remove_if_empty(directory: Path) -> None:
    with suppress(OSError):
        directory.rmdir()
