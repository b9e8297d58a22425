"""Recording a program."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from simalloc.errors import SimallocError
from simalloc.plural import counted
from simalloc.progress import Bar
from simalloc.progress import progress as any_progress
from simalloc.trace import Trace, read_trace
from simalloc.trace.recorder import DEPTH, Progress, RawRecording, Recorded, Wanted
from simalloc.trace.recorder import record as record_to_file

_SHELL: Final = {"|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"}
"""Words that only a shell understands."""


def record(
    command: Sequence[str] | str,
    output: str | os.PathLike[str] | None = None,
    *,
    times: bool = False,
    sites: bool = False,
    stacks: bool | int = False,
    every: int = 0,
    python: bool = False,
    progress: bool | None = None,
) -> Trace:
    """Run a command and return the trace of what it asked of malloc.

    The command is a list, `["ls", "-l"]`, or a line as a shell splits it, `"ls -l"`. With `output`
    the trace is kept in that file, and those of the processes that the command starts beside it.
    `times` records when each call was made, `sites` where in the program, `stacks` by which call
    path, of 32 places or as many as it says. `every` records a sample: blocks that hold one of the
    bytes that are drawn, on average one in `every`. `python` has Python serve its objects from
    malloc, and Python functions stand in call paths. Interrupt the kernel, or press Ctrl-C, to end
    the command; what it did until then is returned. `progress` shows a bar; None: in notebooks
    only.

    Raises `SimallocError` if the command cannot be recorded or never calls malloc.
    """
    words = shlex.split(command) if isinstance(command, str) else [*command]
    if not words:
        raise SimallocError("the command to record is empty")
    if isinstance(command, str) and _SHELL & set(words):
        raise SimallocError(
            f"record() starts a program without a shell, and {command!r} needs one; "
            f"write record(['sh', '-c', {command!r}])"
        )
    name = Path(words[0]).name
    depth = DEPTH if stacks is True else max(int(stacks), int(sites))
    with (
        TemporaryDirectory(prefix="simalloc-") as folder,
        any_progress(name, None, shown=progress) as bar,
    ):
        path = Path(folder) / f"{name}.npz" if output is None else Path(output)
        outcome = record_to_file(
            words,
            path,
            _Teller(bar),
            wanted=Wanted(times, depth, every, python),
            wait=output is not None,
        )
        if not any(one.is_main and one.totals.events for one in outcome.recorded):
            raise SimallocError(
                f"{name} was not recorded: it does not call malloc, or has an allocator of its own"
            )
        trace = read_trace(path)
    program = Path(trace.provenance["executable"]).name
    provenance = {**trace.provenance, "exit_code": outcome.exit_code}
    return replace(trace, name=trace.name if output else program, provenance=provenance)


class _Teller:
    """Shows the progress of a recording on a bar."""

    wants_progress = True

    def __init__(self, bar: Bar) -> None:
        self._bar = bar

    def progress(self, progress: Progress) -> None:
        self._bar.text = (
            f"{counted(progress.events, 'event')}, {counted(progress.live_bytes, 'byte')} live"
        )
        self._bar()

    def waiting(self, processes: Sequence[int]) -> None:
        self._bar.text = (
            f"still recording {counted(len(processes), 'process', 'processes')} that it left"
        )
        self._bar()

    def lost(self, raw: RawRecording) -> None:
        """Say nothing: the trace's provenance says that it is not whole."""

    def working(self, what: str) -> None:
        self._bar.text = what
        self._bar()

    def ended(self, why: str) -> None:
        self._bar.text = f"the recording ends {why}"
        self._bar()

    def waiting_for_command(self, recorded: Sequence[Recorded]) -> None:  # noqa: ARG002
        self._bar.text = "the command goes on without being recorded"
        self._bar()
