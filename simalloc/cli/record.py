"""`simalloc record`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from simalloc.cli.duration import Duration
from simalloc.cli.group import EXIT_ERROR
from simalloc.cli.messages import echo
from simalloc.cli.options import output_option
from simalloc.cli.size import Size
from simalloc.errors import TraceError
from simalloc.plural import counted
from simalloc.signals import signal_name
from simalloc.sizes import spell_bytes
from simalloc.trace.recorder import (
    DEPTH,
    MAX_DEPTH,
    Bounds,
    ProgramError,
    Progress,
    RawRecording,
    Recorded,
    Wanted,
    is_attended,
    reason_of,
    record,
    recover,
    stop,
)
from simalloc.trace.recorder import snapshot as take_snapshot
from simalloc.trace.recorder.built_in import FREE_THREADED
from simalloc.trace.recorder.record import Outcome
from simalloc.trace.recorder.start import START_SUFFIX
from simalloc.trace.symbols import symbolizer
from simalloc.trace.writer import check_trace_name

if TYPE_CHECKING:
    from simalloc.process.attach import Begun

_MAX_OTHERS: Final = 5
_FEW_PLACES: Final = 9
"""Maximum number of unnamed code locations without a warning; the loader has some."""
_PYTHON: Final = (
    "Python serves objects of up to 512 bytes from its own allocator. The trace contains only the "
    "large blocks of this allocator. Use --python to record every object and its Python code"
)


class _WithStacks(click.Command):
    """A command whose option `--stacks` takes an optional value, but only after `=`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        valued = {
            name for one in self.params for name in one.opts if not getattr(one, "is_flag", 0)
        }
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] != "--":
            if args[at] == "--stacks":
                args[at] = f"--stacks={DEPTH}"
            at += 2 if args[at] in valued else 1
        return super().parse_args(ctx, args)


def _directory_option(
    spelling: str, what: str, *, name: str = ""
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return an option for the directory of a recording."""
    return click.option(
        spelling,
        name or spelling.removeprefix("--"),
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIRECTORY",
        help=what,
    )


@click.command(
    "record",
    cls=_WithStacks,
    context_settings={"allow_interspersed_args": False},
    epilog="\b\nExample:\n  simalloc record -o sort.npz -- sort -u words.txt\n"
    "  simalloc record --stacks -o mine.npz -- ./program\n"
    "  simalloc record --pid 1234 --for 60s -o server.npz",
)
@output_option(
    "Trace of COMMAND. Traces of other processes are written to NAME.PROCESS.npz beside it."
)
@click.option(
    "--pid",
    "number",
    type=click.IntRange(1),
    metavar="PID",
    help="Record this running process instead of COMMAND, until Ctrl-C. The trace begins with the "
    "blocks that are live.",
)
@click.option(
    "--times", is_flag=True, help="Record the time of each event, in nanoseconds since the start."
)
@click.option("--sites", is_flag=True, help="Record the code that makes each allocation.")
@click.option(
    "--stacks",
    "depth",
    type=click.IntRange(1, MAX_DEPTH),
    metavar="[=DEPTH]",
    help=f"Record the call path of each allocation, up to DEPTH frames. Default: {DEPTH}.",
)
@click.option(
    "--every",
    type=Size(1),
    metavar="BYTES",
    help="Record a sample of the blocks. On average, one byte in BYTES is sampled. A block is "
    "recorded if it contains a sampled byte.",
)
@click.option(
    "--python",
    is_flag=True,
    help="Make Python allocate its objects with malloc, and record Python functions in call paths.",
)
@click.option(
    "--progress/--no-progress",
    default=None,
    help="Print progress on stderr during the recording. Default: only on a terminal.",
)
@click.option(
    "--no-wait", is_flag=True, help="Do not wait for processes that COMMAND leaves running."
)
@click.option(
    "--alone",
    is_flag=True,
    help="Keep only the trace of COMMAND, not the traces of its child processes.",
)
@click.option(
    "--for",
    "seconds",
    type=Duration(),
    metavar="DURATION",
    help="End the recording after this time, for example 10m. COMMAND continues.",
)
@click.option(
    "--limit",
    type=Size(1),
    metavar="BYTES",
    help="End the recording when its raw files reach this size, for example 2G. COMMAND continues.",
)
@_directory_option(
    "--snapshot",
    "Do not run COMMAND. Write a trace of the events that DIRECTORY (NAME.*.recording) contains.",
)
@_directory_option(
    "--stop",
    "End the recording in DIRECTORY (NAME.*.recording). The recorded programs continue.",
    name="stopped",
)
@_directory_option(
    "--recover",
    "Do not run COMMAND; write the traces of an interrupted recording.",
    name="directory",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(
    ctx: click.Context,
    output: Path | None,
    *,
    number: int | None,
    times: bool,
    sites: bool,
    depth: int | None,
    every: int | None,
    python: bool,
    progress: bool | None,
    no_wait: bool,
    alone: bool,
    seconds: float | None,
    limit: int | None,
    snapshot: Path | None,
    stopped: Path | None,
    directory: Path | None,
    command: Sequence[str],
) -> None:
    """Record the malloc calls of COMMAND or of a running process.

    COMMAND runs unmodified, with its own input, output and exit code. Every process that it starts
    gets a separate trace. If a process crashes or is killed, the events recorded so far are kept.
    """
    given = [folder for folder in (snapshot, stopped, directory) if folder is not None]
    if len(given) > 1 or (given and command):
        raise click.UsageError(
            "--snapshot, --stop and --recover exclude each other and COMMAND", ctx
        )
    if stopped is not None:
        _stop(stopped)
        return
    if output is None:
        raise click.UsageError(
            "Missing option -o: give the trace to write, for example -o sort.npz", ctx
        )
    check_trace_name(output)
    if given:
        ctx.exit(_write_recorded(output, snapshot, directory, alone=alone))
    wanted = Wanted(times, depth or int(sites), every or 0, python)
    bounds = Bounds(seconds, limit)
    teller = _Teller(wants_progress=sys.stderr.isatty() if progress is None else progress)
    if number is not None:
        excluded = bool(command or python or no_wait or alone)
        ctx.exit(_record_process(number, output, teller, wanted, bounds, excluded=excluded))
    if not command:
        raise click.UsageError(
            "COMMAND is missing: simalloc record -o TRACE -- COMMAND ARG...", ctx
        )
    recording = partial(record, wanted=wanted, bounds=bounds, wait=not no_wait, alone=alone)
    ctx.exit(_record_command(command, output, teller, wanted, recording))


def _record_command(
    command: Sequence[str],
    output: Path,
    teller: _Teller,
    wanted: Wanted,
    recording: Callable[[Sequence[str], Path, _Teller], Outcome],
) -> int:
    """Record a command by `recording` and return its exit code."""
    try:
        outcome = recording(command, output, teller)
    except ProgramError as error:
        echo(f"simalloc: error: {error}", err=True)
        return error.exit_code
    finally:
        teller.end_line()
    if not teller.has_summarized:
        _summarize(outcome.recorded)
    if outcome.signal:
        _say(f"{command[0]} was ended by {signal_name(outcome.signal)}")
    free = any(one.is_main and one.built_in == FREE_THREADED for one in outcome.recorded)
    sees_python = free or wanted.python or os.environ.get("PYTHONMALLOC", "").startswith("malloc")
    if not sees_python and any(_is_python(one) for one in outcome.recorded):
        _say(_PYTHON)
    _check_symbolizer(wanted)
    return outcome.exit_code


def _record_process(
    number: int,
    output: Path,
    teller: _Teller,
    wanted: Wanted,
    bounds: Bounds,
    *,
    excluded: bool,
) -> int:
    """Record a running process and return the exit code; `excluded` is True for invalid options."""
    if excluded:
        raise click.UsageError("--pid excludes COMMAND, --python, --no-wait and --alone")
    from simalloc.process.attach import record_process  # noqa: PLC0415 - on Linux only

    try:
        recorded = record_process(number, output, teller, wanted=wanted, bounds=bounds)
    except ProgramError as error:
        echo(f"simalloc: error: {error}", err=True)
        return error.exit_code
    finally:
        teller.end_line()
    _summarize(recorded)
    _check_symbolizer(wanted)
    return 0


def _check_symbolizer(wanted: Wanted) -> None:
    if wanted.depth and symbolizer() is None:
        _say(
            "neither llvm-symbolizer nor addr2line is installed; call sites have no files and lines"
        )


class _Teller:
    """Reports events of the recording on stderr; on a terminal, progress stays in one line."""

    def __init__(self, *, wants_progress: bool) -> None:
        self.wants_progress = wants_progress
        self.has_summarized = False
        self._in_line = False

    def progress(self, progress: Progress) -> None:
        processes = "" if progress.processes == 1 else f", {progress.processes} processes"
        text = (
            f"{counted(progress.events, 'event')}, {spell_bytes(progress.live_bytes)} live"
            f"{processes}"
        )
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[Ksimalloc: {text}")
            sys.stderr.flush()
            self._in_line = True
        else:
            _say(text)

    def begun(self, begun: Begun, folder: str) -> None:
        _say(
            f"The process is recorded into {folder}. It was stopped for {begun.pause * 1000:.0f} "
            "ms. Ctrl-C ends the recording, and the process continues"
        )
        if begun.start is not None:
            live = counted(begun.start.objects, "block was", "blocks were")
            _say(f"{live} live when the recording began ({spell_bytes(begun.start.bytes)})")
        for problem in begun.problems:
            _say(problem)

    def waiting(self, processes: Sequence[int]) -> None:
        self.end_line()
        names = ", ".join(map(str, processes))
        _say(
            f"the command has ended; processes that it started are still recorded: {names}. Ctrl-C "
            "ends the recording, and the processes continue"
        )

    def lost(self, raw: RawRecording) -> None:
        self.end_line()
        _say(f"{_ending(raw.process, raw.counts.lost_reason or 0)} The program continues.")

    def working(self, what: str) -> None:
        self.end_line()
        _say(what)

    def ended(self, why: str) -> None:
        self.end_line()
        _say(f"the recording ends {why}, and the recorded programs continue")

    def waiting_for_command(self, recorded: Sequence[Recorded]) -> None:
        _summarize(recorded)
        self.has_summarized = True
        _say("the command continues without being recorded; simalloc ends with it")

    def end_line(self) -> None:
        if self._in_line:
            echo(err=True)
        self._in_line = False


def _write_recorded(
    output: Path, snapshot: Path | None, directory: Path | None, *, alone: bool
) -> int:
    """Write the traces of a running or interrupted recording. Return the exit code."""
    if snapshot is not None:
        _summarize(take_snapshot(snapshot, output, alone=alone, report=_say))
    if directory is None:
        return 0
    recovered = recover(directory, output, alone=alone)
    _summarize(recovered.recorded, recovered.damaged)
    return EXIT_ERROR if recovered.damaged else 0


def _stop(directory: Path) -> None:
    processes = stop(directory)
    if is_attended(directory):
        who = "The command that records it writes the traces now"
    else:
        _detach(directory)
        who = f"To write the traces, run simalloc record --recover {directory} -o TRACE"
    _say(f"the recording of {counted(len(processes), 'process', 'processes')} has ended. {who}")


def _detach(directory: Path) -> None:
    """Remove the recorder from an attached process if the recording command was killed."""
    if not list(directory.glob(f"*{START_SUFFIX}")):
        return
    from simalloc.process.attach import detach, process_of  # noqa: PLC0415 - on Linux only

    number = process_of(directory)
    if number is not None:
        detach(number)


def _say(text: str) -> None:
    echo(f"simalloc: {text}", err=True)


def _ending(process: int, reason: int) -> str:
    """Return the reason why a recording ended before its process; 0 is an end on request."""
    if not reason:
        return f"process {process} was still running when its recording ended."
    return f"the recording of process {process} ends early: {reason_of(reason)}."


def _summarize(recorded: Sequence[Recorded], damaged: Sequence[TraceError] = ()) -> None:
    main = [one for one in recorded if one.is_main]
    others = sorted(
        (one for one in recorded if not one.is_main), key=lambda one: -one.totals.events
    )
    if not damaged and not any(one.totals.events for one in main):
        known = any(one.built_in for one in main)
        _say(
            "nothing of the command itself was recorded."
            + ("" if known else " Unless a line above states the reason, it did not call malloc")
        )
    for one in main:
        _summarize_one(one)
    if others:
        events = sum(one.totals.events for one in others)
        traces = counted(len(others), "more trace")
        size = counted(events, "event")
        _say(f"{traces} of child processes and of programs before an exec, {size}:")
    for one in others[:_MAX_OTHERS]:
        _summarize_one(one)
    if len(others) > _MAX_OTHERS:
        _say(f"... and {counted(len(others) - _MAX_OTHERS, 'smaller trace')} in the same folder")
    for error in damaged:
        _say(f"error: {error}; this recording stays where it is")


def _is_python(one: Recorded) -> bool:
    return one.is_main and Path(one.executable).name.startswith("python")


def _summarize_one(one: Recorded) -> None:
    name = Path(one.executable).name or "process"  # a chroot may lack /proc
    _say(
        f"{one.path}: {name} ({one.process}), {counted(one.totals.events, 'event')} on "
        f"{counted(one.totals.objects, 'object')}, at most "
        f"{spell_bytes(one.totals.max_live_bytes)} live"
    )
    file, most = max(one.unnamed.items(), key=lambda each: each[1], default=("", 0))
    if one.is_main and (most > _FEW_PLACES or (most and file == one.executable)):
        _say(
            f"  {counted(most, 'place', 'places')} in {file} could not be named. Install its "
            "debugging symbols (on Debian a package ...-dbgsym) or compile it with -g, and record "
            "again"
        )
    _summarize_allocators(one)
    if one.heap is not None:
        _say(
            f"  {one.heap}: the heap when the recording began; `simalloc settings {one.path} "
            "--start recorded` begins its replays with this heap"
        )
    counts = one.counts
    if one.is_snapshot:
        _say("  it is still recorded")
    elif counts.lost_reason is not None:
        _say(f"  {_ending(one.process, counts.lost_reason)}")
    if counts.frees_of_unknown or counts.reallocs_of_unknown:
        _say(
            "  requests for blocks that were allocated before the recording began: "
            f"{counted(counts.frees_of_unknown, 'free')} skipped, "
            f"{counted(counts.reallocs_of_unknown, 'realloc')} recorded as malloc"
        )
    if counts.frees_unseen:
        unseen = counted(counts.frees_unseen, "free was", "frees were")
        _say(f"  {unseen} not seen; each is placed at the latest possible event")
    if counts.read < counts.records and not one.is_snapshot:
        lost = counted(counts.records - counts.read, "record was", "records were")
        _say(f"  {lost} cut off when the process was killed")


def _summarize_allocators(one: Recorded) -> None:
    """Name allocators whose blocks are missing, or that no model covers."""
    if one.built_in == FREE_THREADED:
        _say(
            f"  {one.executable} is a free-threaded Python. Its own mimalloc serves Python's "
            "objects, so the trace contains none of them"
        )
    elif one.is_main and one.built_in:
        _say(
            f"  {one.executable} has {one.built_in} built in, which a preloaded library cannot "
            "replace. Its blocks are not recorded. To record them, link the program with the "
            "allocator's shared library (or without an allocator)"
        )
    library, allocations = one.second_malloc
    if allocations > one.totals.objects / 100:
        _say(
            f"  {library} served {counted(allocations, 'allocation')} of these, and another malloc "
            "served the rest. `simalloc settings` therefore has no verdict"
        )
