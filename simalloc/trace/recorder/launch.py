"""Starting a program with the recorder's library loaded."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import resources
from pathlib import Path
from types import FrameType
from typing import Any, Final, Self

from simalloc.trace.recorder.program import (
    EXIT_NOT_EXECUTABLE,
    ProgramError,
    check_python,
    find_program,
)
from simalloc.trace.recorder.wanted import EVENTS, Wanted

_Handler = Callable[[int, FrameType | None], Any] | int | None

LIBRARY: Final = "libsimalloc_record.so"
DIRECTORY_VARIABLE: Final = "SIMALLOC_RECORD_DIRECTORY"
_SPECIAL_IN_PRELOAD: Final = set(" :$")


@contextmanager
def preload_library() -> Iterator[Path]:
    """Yield a path of the library that contains no character that LD_PRELOAD cannot contain.

    Raises `ProgramError` if the package was built without the library.
    """
    with ExitStack() as stack:
        source = resources.files("simalloc.trace.recorder").joinpath(LIBRARY)
        if not source.is_file():
            raise ProgramError(
                (
                    "this simalloc was built without the recorder, which needs Linux with glibc; "
                    "import the log of another tool instead (simalloc import --help)"
                ),
                EXIT_NOT_EXECUTABLE,
            )
        path = stack.enter_context(resources.as_file(source)).absolute()
        if _SPECIAL_IN_PRELOAD & set(str(path)):
            link = Path(stack.enter_context(tempfile.TemporaryDirectory())) / LIBRARY
            link.symlink_to(path)
            path = link
        yield path


def start(
    command: Sequence[str],
    library: Path,
    directory: Path,
    wanted: Wanted = EVENTS,
    **streams: Any,
) -> subprocess.Popen[bytes]:
    """Start `command` with the streams (by default), files and directory of this process.

    Its raw recordings, and the recordings of its child processes, are written to `directory`.
    Raises `ProgramError` if the command cannot be started or recorded.
    """
    program = find_program(command)
    if wanted.python:
        check_python(command)
    preloaded = [str(library), *os.environ.get("LD_PRELOAD", "").split()]
    environment = {
        **os.environ,
        "LD_PRELOAD": ":".join(preloaded),
        DIRECTORY_VARIABLE: str(directory),
        **wanted.environment(),
    }
    try:
        return subprocess.Popen(  # noqa: S603 - the user requests to run it
            command, executable=program, env=environment, close_fds=False, **streams
        )
    except OSError as error:
        raise ProgramError(f"{program}: {error.strerror}", EXIT_NOT_EXECUTABLE) from None


class Signals:
    """Context in which signals that would end this process are left to the program.

    Signals from the terminal reach the program directly. Other signals are passed on to the process
    of `leave_to`, including signals that arrived earlier. Once `ended` states that the program has
    ended, a signal sets `interrupted` instead.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self.ended = False
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._before: dict[int, _Handler] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave_to(self, process: subprocess.Popen[bytes]) -> None:
        """Set the process that receives the signals, after its start."""
        self._process = process
        while self._early:
            process.send_signal(self._early.pop())

    def leave(self) -> None:
        """Restore the effect of signals on this process. A second call has no effect."""
        while self._before:
            signal.signal(*self._before.popitem())

    def _receive(self, number: int, _: FrameType | None) -> None:
        if self.ended:
            self.interrupted = True
        elif number not in (signal.SIGTERM, signal.SIGHUP):
            return
        elif self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)
