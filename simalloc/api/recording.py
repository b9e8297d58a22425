"""Recordings of programs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from simalloc.arguments import FLAG, PATH, Kind, checked, optional, whole
from simalloc.errors import SimallocError
from simalloc.plural import counted, kind_of
from simalloc.progress import Bar
from simalloc.progress import progress as any_progress
from simalloc.trace import Trace, read_trace
from simalloc.trace.recorder import DEPTH, Progress, RawRecording, Recorded, Wanted
from simalloc.trace.recorder import record as record_to_file
from simalloc.trace.writer import check_trace_name

_SHELL: Final = {"|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"}
"""Words that only a shell understands."""
_DEPTH: Final = Kind(
    "True, False, or a number of frames",
    lambda value: FLAG.accepts(value) or whole().accepts(value),
)


@checked(
    output=optional(PATH),
    times=FLAG,
    sites=FLAG,
    stacks=_DEPTH,
    every=whole(),
    python=FLAG,
)
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
    """Run a command, record its malloc calls and return the trace.

    Ctrl-C, or an interrupt of the kernel, ends the command and returns the calls recorded so far.

    Parameters
    ----------
    command : sequence of str, or str
        The command as a list such as `["ls", "-l"]`, or as a line that is split like a shell's.
    output : str or path, optional
        File for the trace. Traces of child processes are written beside it. By default no file is
        kept.
    times : bool, default False
        Record the time of each call in nanoseconds.
    sites : bool, default False
        Record the call site of each call.
    stacks : bool or int, default False
        Record the call path of each call, with up to 32 frames or the given number.
    every : int, default 0
        Mean distance in bytes of a sample: bytes are drawn at random at this mean distance, and
        every block that contains a drawn byte is recorded. 0 records every block.
    python : bool, default False
        Make Python allocate its objects with malloc, and include Python functions in call paths.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    Trace
        The recorded events. `provenance` has the command's exit code and other circumstances.

    Raises
    ------
    SimallocError
        If the command cannot be recorded or never calls malloc, or if `output` ends in `.txt`.

    Examples
    --------
    >>> trace = simalloc.record(["sqlite3", ":memory:", "select 1"], times=True)
    """
    if not isinstance(command, (str, Sequence)):
        raise SimallocError(
            f"the command to record must be a list or a line of text, not {kind_of(command)}"
        )
    words = shlex.split(command) if isinstance(command, str) else [*command]
    if not words:
        raise SimallocError("the command to record is empty")
    if isinstance(command, str) and _SHELL & set(words):
        raise SimallocError(
            f"record() starts a program without a shell, and {command!r} needs one; "
            f"write record(['sh', '-c', {command!r}])"
        )
    if output is not None:
        check_trace_name(output)
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
                f"{name} was not recorded: it does not call malloc, or it has its own allocator"
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
            f"still recording {counted(len(processes), 'process', 'processes')} that the "
            "command left running"
        )
        self._bar()

    def lost(self, raw: RawRecording) -> None:
        """Print nothing: the trace's provenance states that the trace is incomplete."""

    def working(self, what: str) -> None:
        self._bar.text = what
        self._bar()

    def ended(self, why: str) -> None:
        self._bar.text = f"the recording ends {why}"
        self._bar()

    def waiting_for_command(self, recorded: Sequence[Recorded]) -> None:  # noqa: ARG002
        self._bar.text = "the command continues without being recorded"
        self._bar()
