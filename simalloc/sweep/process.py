"""Processes that carry out runs of policies in Python, each with its own interpreter.

Such a process is a new interpreter that receives only its task, which includes the text of the
policy's file. The parent and the process exchange pickles over a pipe. A second pipe carries no
data. It is closed when the parent ends in any way, and the process then ends immediately.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from threading import Event, Lock, Thread, local
from typing import Any

from simalloc.errors import SimallocError
from simalloc.signals import signal_name
from simalloc.sweep.task import Outcome, Task, failure, words_of
from simalloc.sweep.worker import TraceCache, carry_out_batch
from simalloc.version import code_version


class Stopped(BaseException):
    """Ends a running replay when the sweep stops."""


class ReplayProcesses:
    """The processes of a sweep, one for each thread. `stopped` is set when the sweep stops."""

    def __init__(self, stopped: Event) -> None:
        self._stopped = stopped
        self._lock = Lock()
        self._mine = local()
        self._all: set[_ReplayProcess] = set()

    def carry_out(self, task: Task, progress: Callable[[int], None]) -> Outcome:
        """Carry out a task, as `carry_out` does, in the process of this thread.

        If the process ends before the task, the outcome is this error, and the thread gets another
        process. Raises `Stopped` if the sweep has stopped.
        """
        process = self._of_this_thread()
        try:
            return process.carry_out(task, progress)
        except _EndedError as error:
            if self._stopped.is_set():
                raise Stopped from error
            return failure(task, SimallocError(f"the process of this run {self._bury(process)}"))

    def kill(self) -> None:
        """Kill all processes. Threads that wait for a process then continue."""
        with self._lock:
            for process in self._all:
                process.kill()

    def close(self) -> None:
        """End all processes and free their resources. No thread may use a process afterwards."""
        for process in self._all:
            process.close()

    def _of_this_thread(self) -> _ReplayProcess:
        process: _ReplayProcess | None = getattr(self._mine, "process", None)
        if process is None:
            process = self._mine.process = _ReplayProcess()
            with self._lock:
                self._all.add(process)
            if self._stopped.is_set():  # kill() may have been called before
                process.kill()
        return process

    def _bury(self, process: _ReplayProcess) -> str:
        """Forget a process that has ended, and return in words how it ended."""
        self._mine.process = None
        with self._lock:
            self._all.discard(process)
        return process.close()


class _EndedError(Exception):
    """The process has ended without a reply."""


class _ReplayProcess:
    """One process, and the parent's ends of its pipes."""

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        watched, self._lifeline = os.pipe()
        command = f"import {__name__} as process; process.serve({theirs.fileno()}, {watched})"
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, without a user's input
            [sys.executable, "-P", "-c", command],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            stdout=2,  # keep a policy's output apart from the sweep's
            pass_fds=[theirs.fileno(), watched],
            process_group=0,  # only the parent handles Ctrl-C
        )
        theirs.close()
        os.close(watched)

    def carry_out(self, task: Task, progress: Callable[[int], None]) -> Outcome:
        answer = self._ask(task, None, progress)
        if answer is None:  # the process cannot read the trace
            try:
                packed = task.source.pack()
            except (OSError, SimallocError) as error:
                return failure(task, error)
            answer = self._ask(task, packed, progress)
        return answer if isinstance(answer, Outcome) else failure(task, answer)

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> str:
        """Kill the process unless it has ended, and return in words how it ended."""
        self._process.kill()
        code = self._process.wait()
        self._connection.close()
        os.close(self._lifeline)
        if code < 0:
            return f"was ended by {signal_name(-code)}"
        return f"ended by itself with exit code {code}"

    def _ask(self, task: Task, packed: bytes | None, progress: Callable[[int], None]) -> Any:
        self._send((task, code_version(), packed))
        while isinstance(answer := self._receive(), int):
            progress(answer)
        return answer

    def _send(self, question: object) -> None:
        try:
            self._connection.send(question)
        except OSError as error:
            raise _EndedError from error

    def _receive(self) -> Any:
        try:
            return self._connection.recv()
        except (EOFError, OSError) as error:
            raise _EndedError from error


def serve(connection: int, lifeline: int) -> None:
    """Carry out the received tasks, one after the other. Both arguments are file descriptors."""
    Thread(target=_end_with_parent, args=[lifeline], daemon=True).start()
    with Connection(connection) as parent:
        cache = TraceCache(0)  # the cache keeps only the latest trace
        while True:
            try:
                task, code, packed = parent.recv()
                outcomes = carry_out_batch([task], code, packed, cache=cache, progress=parent.send)
                parent.send(None if outcomes is None else outcomes[0])
            except EOFError:
                return
            except Exception as error:  # noqa: BLE001 - it becomes the run's
                parent.send(SimallocError(words_of(error)))


def _end_with_parent(lifeline: int) -> None:
    os.read(lifeline, 1)
    os._exit(1)
