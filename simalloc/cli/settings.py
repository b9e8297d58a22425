"""`simalloc settings`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import click

from simalloc.advice import (
    IN_MEMORY,
    SHORT,
    Advice,
    Candidate,
    Machine,
    Recorded,
    Setting,
    advise,
    candidates,
    events_of_advice,
    events_of_settings,
    held_arenas,
    in_use,
    is_worth,
    machine_of,
    python_of,
    recorded,
    settings_of,
    user_candidate,
)
from simalloc.advice.sentences import left_out
from simalloc.cli.messages import echo, echo_paragraph
from simalloc.cli.number import Number
from simalloc.cli.options import format_option, traces_argument
from simalloc.cli.progress import progress
from simalloc.cli.size import Size
from simalloc.cli.starts import Starts, start_option
from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.heap.real import NativeRun, installed, passes, replay_natively
from simalloc.heap.start import Start
from simalloc.measure.sites import best_apart, events_of_best_apart
from simalloc.report import Format, write_table
from simalloc.report.at_start import start_sentence
from simalloc.report.held_arenas import arena_code_table, arenas_table, arenas_text
from simalloc.report.mappings import mappings_table
from simalloc.report.settings import (
    model_beside_real,
    settings_record,
    settings_records,
    settings_records_table,
    settings_table,
)
from simalloc.report.sites import proposal_text
from simalloc.trace import EventSource, Trace
from simalloc.trace.sample import refuse_sample

_REPEATS: Final = 3
"""Number of timed passes of a real malloc."""


@dataclass(frozen=True)
class _Found:
    """A trace, its settings, settings within the budget, the verdict, and omitted candidates."""

    source: EventSource
    machine: Machine
    process: Recorded
    settings: Sequence[Setting]
    kept: Sequence[Setting]
    advice: Advice
    left_out: Sequence[Candidate]


@click.command(
    "settings",
    epilog="\b\nExamples:\n"
    "  simalloc settings my-program.npz\n"
    "  simalloc settings my-program.npz --cores 64\n"
    "  simalloc settings my-program.npz --settings glibc:arena_max=3 --budget 512M",
)
@traces_argument
@click.option("--search", is_flag=True, help="Try a grid of settings, which takes longer.")
@click.option(
    "--settings",
    "own",
    multiple=True,
    metavar="MALLOC:NAME=VALUE,...",
    help="Try these settings too. Repeatable.",
)
@click.option(
    "--cores",
    type=click.IntRange(min=1, max=4096),
    metavar="N",
    help="Cores of the machine that the program will run on.  [default: the recorded number, else "
    "8]",
)
@click.option(
    "--budget",
    "limit",
    type=Size(),
    metavar="SIZE",
    help="Show only settings with at most this peak of resident memory, for example 512M.",
)
@click.option(
    "--max-cost",
    "most",
    type=Number(min=0),
    default=5.0,
    show_default=True,
    metavar="PERCENT",
    help="Recommend only settings whose cost, at the upper limit of its estimate, is at most this "
    "share of the program's CPU time.",
)
@click.option(
    "--native/--no-native",
    default=False,
    show_default=True,
    help="Time the installed mallocs at their defaults.",
)
@start_option
@format_option
def command(
    traces: Sequence[str],
    search: bool,  # noqa: FBT001 - click passes options so
    own: Sequence[str],
    cores: int | None,
    limit: int | None,
    most: float,
    native: bool,  # noqa: FBT001 - click passes options so
    starts: Starts,
    table_format: Format,
) -> None:
    """Recommend a malloc and its settings for a program.

    The trace is replayed under models of glibc's malloc, jemalloc, tcmalloc and mimalloc, at their
    defaults and at common settings. If a setting is recommended, the last line of the output is the
    command that applies it. A Python program that was recorded with PYTHONMALLOC=malloc is
    also replayed under models of Python's own allocator on top of these mallocs. The output then
    lists the arenas that Python holds, the blocks in them, and the code that allocated the blocks.

    With --start, the rows are the settings that a running process with glibc's malloc can change.
    Each run begins with the heap of the process. The last line is the call that changes the
    settings.

    With --format json the output is one object with the machine, the process, the recommendation,
    the verdict and a row for each setting. For several traces the output is a list of objects.
    """
    if native and starts.are_given:
        raise click.UsageError("--native and --start exclude each other.")
    found = []
    for name in traces:
        source, start = starts.opened(name)
        if source.is_of_device:
            raise SimallocError(f"{name} is a trace of device memory. Use `simalloc device`")
        refuse_sample(source)
        each = _find(source, start, own, cores, limit, most / 100, search=search)
        if table_format in {"json", "csv"}:
            found.append(each)
        else:
            _print(each, table_format, native=native)
    if table_format == "json":
        records = [
            settings_record(each.source.name, each.kept, each.advice, each.machine, each.process)
            for each in found
        ]
        json.dump(records[0] if len(records) == 1 else records, sys.stdout, indent=2)
        sys.stdout.write("\n")
    elif table_format == "csv":
        rows = [row for each in found for row in settings_records(each.source.name, each.kept)]
        write_table(settings_records_table(rows), table_format, sys.stdout)


def _find(
    source: EventSource,
    start: Start | None,
    own: Sequence[str],
    cores: int | None,
    limit: int | None,
    budget: float,
    *,
    search: bool,
) -> _Found:
    """Replay a trace under all settings and return the results."""
    python = python_of(source)
    given = [user_candidate(text, python) for text in own]
    tried = list(dict.fromkeys([*candidates(search=search, python=python), *given]))
    left_out = [] if start is None else [one for one in tried if not one.can_begin_later]
    tried = [one for one in tried if one not in left_out]
    machine, process = machine_of(source.provenance, cores), recorded(source.provenance)
    with progress(source.name, events_of_settings(source, tried)) as advance:
        settings = settings_of(source, tried, machine=machine, start=start, progress=advance)
    kept = _below(settings, in_use(settings, process), limit)
    with progress(f"{source.name}: run-to-run variation", events_of_advice(source)) as advance:
        advice = advise(
            source, kept, process, perturb=len(source) <= SHORT, budget=budget, progress=advance
        )
    return _Found(source, machine, process, settings, kept, advice, left_out)


def _below(settings: Sequence[Setting], used: Setting, limit: int | None) -> list[Setting]:
    """Return the settings within a limit, and always the present one."""
    if limit is None:
        return list(settings)
    if all(one.peak_bytes > limit for one in settings):
        least = min(one.peak_bytes for one in settings)
        raise SimallocError(
            f"no setting stays below {limit:,} bytes; the smallest peak is {least:,.0f} bytes. "
            "Raise --budget"
        )
    return [one for one in settings if one is used or one.peak_bytes <= limit]


def _print(found: _Found, form: Format, *, native: bool) -> None:
    source, advice = found.source, found.advice
    for line in model_beside_real(found.settings, found.process):
        echo(line)
    if (mapped := mappings_table(source.provenance)) is not None:
        write_table(mapped, form, sys.stdout)
    begun = advice.now.run.options.start is not None
    if sentence := start_sentence(source.provenance, begun=begun):
        echo(sentence)
    if sentence := left_out(found.left_out):
        echo(sentence)
    trace = source.in_memory() if len(source) <= SHORT else None
    possible = simulate(trace, "best-possible", scale=1) if trace is not None else None
    natives = _natives(trace) if native and trace is not None else []
    table = settings_table(
        source.name, found.kept, machine=found.machine, possible=possible, natives=natives
    )
    write_table(table, form, sys.stdout)
    used = advice.now
    if used.candidate.python and len(source) <= IN_MEMORY:
        _print_arenas(source.in_memory(), used, form)
    paragraphs = [" ".join(each) for each in advice.paragraphs]
    if not begun:
        paragraphs += _on_separate_arenas(source, used)
    for paragraph in paragraphs:
        echo()
        echo_paragraph(paragraph)
    if advice.line:
        echo(f"\n  {advice.line}")


def _on_separate_arenas(source: EventSource, used: Setting) -> list[str]:
    """Return sentences on code whose objects should have a separate arena.

    The list is empty unless the saving is worth a change.
    """
    with progress(f"{source.name}: separate arenas", events_of_best_apart(source)) as advance:
        found = best_apart(source, used.run, most=1, progress=advance)
    return [
        f"{proposal_text(proposal)}."
        for proposal in found
        if is_worth(proposal.apart.together_bytes, proposal.apart.saved)
    ]


def _print_arenas(trace: Trace, used: Setting, form: Format) -> None:
    with progress(f"{trace.name}: Python's arenas", len(trace)) as advance:
        held = held_arenas(trace, used.run.policy, progress=advance)
    echo(arenas_text(held))
    if held.sparse:
        write_table(arenas_table(held), form, sys.stdout)
    if held.places:
        write_table(arena_code_table(held), form, sys.stdout)


def _natives(trace: Trace) -> list[NativeRun]:
    """Return replays by the installed allocators, without those that cannot replay the trace."""
    runs: list[NativeRun] = []
    allocators = installed()
    with progress(f"{trace.name}: real allocators", passes(_REPEATS) * len(allocators)) as advance:
        for allocator in allocators:
            try:
                runs += replay_natively(trace, [allocator], repeats=_REPEATS, progress=advance)
            except SimallocError as error:
                echo(f"simalloc: skipped {allocator.name}: {error}", err=True)
    return runs
