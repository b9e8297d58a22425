"""The initial heaps of runs: the option `--start`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from simalloc.errors import SimallocError
from simalloc.heap.start import Start
from simalloc.trace import EventSource
from simalloc.trace.catalogue import find_trace, open_source

RECORDED: Final = "recorded"
"""Value of the option for the heaps that `simalloc record --pid` saved with each trace."""


@dataclass(frozen=True)
class Starts:
    """Initial heaps of ptmalloc runs: one for all traces, or a separate heap for each trace."""

    heap: Start | None = None
    are_recorded: bool = False

    @property
    def are_given(self) -> bool:
        """True if runs begin with a heap."""
        return self.are_recorded or self.heap is not None

    def opened(self, name: str) -> tuple[EventSource, Start | None]:
        """Open a trace. Return it with the live blocks of its heap in front, and the heap, or None.

        Raises `SimallocError` if `are_recorded` is true and the trace has no saved heap.
        """
        source = open_source(name)
        start = _recorded_with(source, find_trace(name)) if self.are_recorded else self.heap
        return (source if start is None else start.before(source)), start


def _recorded_with(source: EventSource, path: Path) -> Start:
    """Return the heap that was saved when the recording of a trace began."""
    name = source.provenance.get("heap_at_start")
    if name is None:
        raise SimallocError(
            f"{path} names no saved heap of a process. Record the process with `simalloc record "
            "--pid PID`, or use --start HEAP.npz"
        )
    heap = path.with_name(name)
    if not heap.is_file():
        raise SimallocError(
            f"{heap} is missing. It is the heap of the process at the start of {path}. Copy it "
            "beside the trace, or use --start HEAP.npz"
        )
    return _load(heap)


def _load(path: Path) -> Start:
    """Return the heap in a file from `simalloc snapshot -o` or `simalloc record --pid`."""
    from simalloc.process.saved import load_snapshot  # noqa: PLC0415 - on Linux only

    return Start.of(load_snapshot(path))


def _starts(_context: click.Context, _option: click.Parameter, value: str | None) -> Starts:
    if value is None:
        return Starts()
    if value == RECORDED:
        return Starts(are_recorded=True)
    path = Path(value)
    if not path.is_file():
        raise click.BadParameter(f"{value!r} is not a file. Use HEAP.npz or {RECORDED}.")
    return Starts(_load(path))


start_option: Final = click.option(
    "--start",
    "starts",
    metavar="HEAP.npz|recorded",
    callback=_starts,
    help="Begin runs of glibc's malloc with the heap of a process: HEAP.npz of `simalloc snapshot "
    "-o`, or the heap that `simalloc record --pid` saved with each trace. Other policies "
    "place the live blocks of the process as the first objects of the trace.",
)
