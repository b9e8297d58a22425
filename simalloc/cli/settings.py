"""`simalloc settings`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Final

import click

from simalloc.advice import (
    IN_MEMORY,
    Setting,
    advise,
    candidates,
    events_of_advice,
    held_arenas,
    in_use,
    is_worth,
    python_of,
    recorded,
    settings_of,
    user_candidate,
)
from simalloc.cli.options import format_option
from simalloc.cli.progress import progress
from simalloc.cli.size import Size
from simalloc.errors import SimallocError
from simalloc.heap import simulate
from simalloc.heap.real import NativeRun, installed, passes, replay_natively
from simalloc.measure.sites import best_apart, events_of_best_apart
from simalloc.report import Format, write_table
from simalloc.report.held_arenas import arena_code_table, arenas_table, arenas_text
from simalloc.report.settings import (
    model_beside_real,
    settings_records,
    settings_records_table,
    settings_table,
)
from simalloc.report.sites import proposal_text
from simalloc.trace import EventSource, Trace
from simalloc.trace.catalogue import open_source

_SHORT: Final = 2_000_000
"""Traces of up to this many events are also replayed as chance might have had them, and really."""

_REPEATS: Final = 3
"""Times that a real malloc is timed."""


@click.command(
    "settings",
    epilog="\b\nExamples:\n"
    "  simalloc settings my-program.npz\n"
    "  simalloc settings my-program.npz --settings glibc:arena_max=3 --budget 512M",
)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--search", is_flag=True, help="Try a whole grid of settings; takes longer.")
@click.option(
    "--settings",
    "own",
    multiple=True,
    metavar="MALLOC:NAME=VALUE,...",
    help="Settings of your own, beside the others; may be given several times.",
)
@click.option(
    "--budget",
    "limit",
    type=Size(),
    metavar="SIZE",
    help="Show only what stays below this many resident bytes, such as 512M.",
)
@click.option(
    "--native/--no-native",
    default=True,
    show_default=True,
    help="Time the mallocs that are installed here, at their defaults.",
)
@format_option
def command(
    traces: Sequence[str],
    search: bool,  # noqa: FBT001 - click passes options so
    own: Sequence[str],
    limit: int | None,
    native: bool,  # noqa: FBT001 - click passes options so
    table_format: Format,
) -> None:
    """Say which malloc, and which setting, a program should run; ends in a line to paste.

    The trace is replayed under models of glibc's malloc, jemalloc, tcmalloc and mimalloc, at their
    defaults and at the settings that people try. If it is of a Python program, recorded with
    PYTHONMALLOC=malloc, then also under models of Python's own allocator over these; and it says
    which arenas of that are held, by how many blocks, and by which code.
    """
    records: list[dict[str, object]] = []
    for name in traces:
        source = open_source(name)
        if source.is_of_device:
            raise SimallocError(f"{name} is of a device's memory: `simalloc device` is for that")
        python = python_of(source)
        given = [user_candidate(text, python) for text in own]
        tried = [*candidates(search=search, python=python), *given]
        with progress(source.name, len(source) * len(tried)) as advance:
            settings = settings_of(source, tried, progress=advance)
        kept = _below(settings, limit)
        if table_format in {"json", "csv"}:
            records += settings_records(source.name, kept)
        else:
            _print(source, settings, kept, table_format, native=native)
    if table_format == "json":
        json.dump(records, sys.stdout, indent=2)
        sys.stdout.write("\n")
    elif table_format == "csv":
        write_table(settings_records_table(records), table_format, sys.stdout)


def _below(settings: Sequence[Setting], limit: int | None) -> list[Setting]:
    kept = [one for one in settings if limit is None or one.resident.peak_bytes <= limit]
    if not kept:
        least = min(one.resident.peak_bytes for one in settings)
        raise SimallocError(f"nothing stays below {limit:,} bytes: the least is {least:,.0f}")
    return kept


def _print(
    source: EventSource,
    settings: Sequence[Setting],
    kept: Sequence[Setting],
    form: Format,
    *,
    native: bool,
) -> None:
    process = recorded(source.provenance)
    for line in model_beside_real(settings, process):
        click.echo(line)
    trace = source.in_memory() if len(source) <= _SHORT else None
    possible = simulate(trace, "best-possible", scale=1) if trace is not None else None
    natives = _natives(trace) if native and trace is not None else []
    table = settings_table(source.name, kept, possible=possible, natives=natives)
    write_table(table, form, sys.stdout)
    used = in_use(settings, process)
    if used.candidate.python and len(source) <= IN_MEMORY:
        _print_arenas(source.in_memory(), used, form)
    if used not in kept and process.has_model:
        click.echo("What the program uses is not below the budget.")
    with progress(f"{source.name}: what is left to chance", events_of_advice(source)) as advance:
        advice = advise(source, kept, process, perturb=trace is not None, progress=advance)
    click.echo(advice.text)
    _print_apart(source, used)
    if advice.line:
        click.echo(f"\n  {advice.line}")


def _print_apart(source: EventSource, used: Setting) -> None:
    """Say which code's objects had best an arena of their own, if that saves enough."""
    with progress(f"{source.name}: code apart", events_of_best_apart(source)) as advance:
        found = best_apart(source, used.run, most=1, progress=advance)
    for proposal in found:
        if is_worth(proposal.apart.together_bytes, proposal.apart.saved):
            click.echo(f"{proposal_text(proposal)}.")


def _print_arenas(trace: Trace, used: Setting, form: Format) -> None:
    with progress(f"{trace.name}: Python's arenas", len(trace)) as advance:
        held = held_arenas(trace, used.run.policy, progress=advance)
    click.echo(arenas_text(held))
    if held.sparse:
        write_table(arenas_table(held), form, sys.stdout)
    if held.places:
        write_table(arena_code_table(held), form, sys.stdout)


def _natives(trace: Trace) -> list[NativeRun]:
    """Return replays by what is installed; what cannot replay the trace is left out."""
    runs: list[NativeRun] = []
    allocators = installed()
    with progress(f"{trace.name}: real mallocs", passes(_REPEATS) * len(allocators)) as advance:
        for allocator in allocators:
            try:
                runs += replay_natively(trace, [allocator], repeats=_REPEATS, progress=advance)
            except SimallocError as error:
                click.echo(f"simalloc: {allocator.name} is left out: {error}", err=True)
    return runs
