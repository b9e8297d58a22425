"""`simalloc report`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

import click

from simalloc.advice.process_tree import process_tree
from simalloc.cli import completing
from simalloc.cli.allocators_option import allocators_option
from simalloc.cli.device_options import device_options, explored
from simalloc.cli.messages import echo
from simalloc.cli.options import output_option
from simalloc.cli.policy_option import PolicyCommand, policy_option
from simalloc.cli.progress import progress
from simalloc.cli.simulation_options import realloc_option, scale_option
from simalloc.errors import SimallocError
from simalloc.files import keep_apart, replacing
from simalloc.heap.real import Allocator, NativeRun, installed, passes, replay_natively
from simalloc.report import page as pages
from simalloc.trace import EventSource
from simalloc.trace.catalogue import find_trace, load, open_source
from simalloc.trace.reader import SUFFIX

_LARGEST: Final = 3
"""Number of processes of a folder that a page examines in detail."""


@click.command(
    "report",
    cls=PolicyCommand,
    epilog="\b\nExamples:\n"
    "  simalloc report my-program.npz\n"
    "  simalloc report espresso gcc -p next-fit-ao -o page.html\n"
    "  simalloc report short1-bal.rep -a glibc,./libmm.so -p first-fit-lifo -o mm.html\n"
    "  simalloc report snapshot.pickle --capacity 24G -o page.html",
)
@click.argument(
    "traces", nargs=-1, required=True, metavar="TRACE...|FOLDER", shell_complete=completing.traces
)
@output_option(
    "The page, one self-contained HTML file below 5 MB. Default: a file beside the trace."
)
@policy_option(
    "Policies to examine in the same detail as the malloc that the program uses. Repeatable."
)
@scale_option
@realloc_option
@device_options
@allocators_option()
@click.option(
    "--native/--no-native",
    default=True,
    show_default=True,
    help="Also replay the traces through the real allocators of -a.",
)
def command(
    traces: Sequence[str],
    output: Path | None,
    policies: Sequence[str],
    scale: int | None,
    realloc: str | None,
    capacities: tuple[int, ...],
    settings: Sequence[str],
    searches: bool,  # noqa: FBT001 - click passes every option by name
    device: int | None,
    allocators: Sequence[Allocator],
    native: bool,  # noqa: FBT001 - click passes every option by name
) -> None:
    """Write a page on a program's memory and the best malloc and settings for it.

    TRACE is a file or a name that `simalloc traces` lists. Files of any length are streamed. The
    page starts with the verdict of `simalloc settings`. It then shows memory over time. It shows
    the heap, and the code that pins the heap, under the malloc in use, the best alternative and the
    chosen policies.

    FOLDER contains the traces that `simalloc record` wrote for a process and its children. Its page
    shows the sum over all processes at each time, and the three largest processes.

    For a snapshot of PyTorch's GPU memory, the page shows the tables of `simalloc device` and a map
    of the segments. --capacity, --settings, --search and --device apply only to such snapshots.
    """
    output = output or _beside(traces[0])
    if len(traces) == 1 and Path(traces[0]).is_dir():
        _report_tree(Path(traces[0]), output, policies)
        return
    keep_apart(output, map(find_trace, traces))
    with replacing(output) as stream:
        findings: list[pages.Findings | pages.DeviceFindings] = []
        for name, trace in _traces(traces, device):
            if trace.is_of_device or capacities or settings or searches:
                loaded = trace.in_memory()
                found = explored(loaded, settings, capacities, searches=searches)
                if found.interrupted:
                    raise KeyboardInterrupt
                findings.append(pages.look_at_device(loaded, name, found))
                continue
            if len(trace) > pages.SHORT_EVENTS:
                echo(_left_out(trace, pages.SHORT_EVENTS), err=True)
            findings.append(
                pages.find_out(
                    trace,
                    given=name,
                    chosen=policies,
                    scale=scale,
                    realloc=realloc,
                    natives=_natives(trace, allocators or installed(), pages.SHORT_EVENTS)
                    if native
                    else [],
                    stage=progress,
                )
            )
        again = click.get_current_context().params
        stream.write(pages.page(findings, _command(traces, output, again)))
    echo(f"simalloc: wrote {output}", err=True)


def _report_tree(folder: Path, output: Path, policies: Sequence[str]) -> None:
    """Write one page on all traces of a folder, which are the processes of a recording."""
    files = [file for file in sorted(folder.glob(f"*{SUFFIX}")) if file.is_file()]
    if not files:
        raise SimallocError(f"{folder} has no traces (*{SUFFIX})")
    keep_apart(output, files)
    with replacing(output) as stream:
        traces = [load(file) for file in files]
        with progress(f"{folder.name}: processes", sum(map(len, traces))) as advance:
            tree = process_tree(traces, progress=advance)
        taken: set[str] = set()
        findings = [
            pages.find_out(
                one.trace.renamed(_apart(f"{one.name} ({one.number})", taken)),
                given=str(files[traces.index(one.trace)]),
                chosen=policies,
                stage=progress,
            )
            for one in tree.large[:_LARGEST]
        ]
        words = shlex.join(["simalloc", "report", str(folder), "-o", output.name])
        stream.write(pages.page(findings, words, tree=tree))
    echo(f"simalloc: wrote {output}", err=True)


def _beside(name: str) -> Path:
    """Return the path of a page: beside the trace's file or folder, or here for a trace's name."""
    if Path(name).is_dir():
        return Path(name).resolve().with_suffix(".html")
    return Path(name).with_suffix(".html") if Path(name).is_file() else Path(f"{name}.html")


def _traces(names: Sequence[str], device: int | None) -> Iterator[tuple[str, EventSource]]:
    """Yield each trace once, with its argument. A repeated name gets a number."""
    taken: set[str] = set()
    for one in {find_trace(one).resolve(): one for one in names}.values():
        trace = open_source(one, device=device)
        yield one, trace.renamed(_apart(trace.name, taken))


def _apart(name: str, taken: set[str]) -> str:
    """Return a name that is not in `taken`, and add it to `taken`."""
    numbered = (f"{name} ({number})" for number in count(2))
    free = next(one for one in chain([name], numbered) if one not in taken)
    taken.add(free)
    return free


def _natives(
    source: EventSource, allocators: Sequence[Allocator], max_events: int
) -> list[NativeRun]:
    """Return the replays by the allocators that can replay the trace.

    The list is empty if the trace has more than `max_events` events.
    """
    if len(source) > max_events:
        return []
    trace = source.in_memory()
    runs: list[NativeRun] = []
    left_out: list[str] = []
    with progress(f"{trace.name}: real allocators", passes(1) * len(allocators)) as advance:
        for allocator in allocators:
            try:
                runs += replay_natively(trace, [allocator], repeats=1, progress=advance)
            except SimallocError as error:
                left_out.append(f"simalloc: skipped {allocator.name}: {error}")
    for line in left_out:
        echo(line, err=True)
    return runs


def _left_out(source: EventSource, max_events: int) -> str:
    return (
        f"simalloc: {source.name} has more than {max_events:,} events. The page omits real "
        "allocators; `simalloc native` replays the trace through them. The best possible heap and "
        "policies with unbalanced trees are included only if they are chosen with -p"
    )


def _command(traces: Sequence[str], output: Path, arguments: Mapping[str, Any]) -> str:
    """Return the command that produces the page again."""
    several = [
        part
        for option, name in (("-p", "policies"), ("--settings", "settings"))
        for text in arguments[name]
        for part in (option, text)
    ]
    sizes = [part for size in arguments["capacities"] for part in ("--capacity", str(size))]
    chosen = [
        part
        for option, name in (("--scale", "scale"), ("--realloc", "realloc"), ("--device", "device"))
        if arguments[name] is not None
        for part in (option, str(arguments[name]))
    ]
    for allocator in arguments["allocators"]:
        chosen += ["-a", str(allocator)]
    flags = ["--search"] if arguments["searches"] else []
    options = [*chosen, *several, *sizes, *flags]
    return shlex.join(["simalloc", "report", *traces, *options, "-o", output.name])
