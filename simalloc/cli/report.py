"""`simalloc report`."""

from __future__ import annotations

import shlex
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simalloc.cli.policy_option import PolicyCommand, policy_option
from simalloc.cli.progress import progress
from simalloc.cli.simulation_options import realloc_option, scale_option
from simalloc.errors import SimallocError
from simalloc.files import keep_apart, replacing
from simalloc.heap.real import installed, replay_natively
from simalloc.trace.catalogue import find_trace, load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from simalloc.heap.real import NativeRun
    from simalloc.trace import Trace


@click.command(
    "report",
    cls=PolicyCommand,
    epilog="\b\nExamples:\n"
    "  simalloc report my-program.npz -o page.html\n"
    "  simalloc report espresso gcc -p next-fit-ao -o page.html",
)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page: one HTML file that needs nothing else, under 5 MB.",
)
@policy_option(
    "Policies to look at as closely as at the best and the worst; may be given several times."
)
@scale_option
@realloc_option
@click.option(
    "--native/--no-native",
    default=True,
    show_default=True,
    help="Replay the traces through the real allocators of this machine too.",
)
def command(
    traces: Sequence[str],
    output: Path,
    policies: Sequence[str],
    scale: int,
    realloc: str | None,
    native: bool,  # noqa: FBT001 - click passes every option by name
) -> None:
    """Write a page: how much memory traces waste, under which policy, and why.

    A TRACE is a file, or the name of a trace that `simalloc traces` lists. The page ranks every
    policy, shows the heaps of the best, the worst and the chosen ones, and names what pins them.
    """
    keep_apart(output, map(find_trace, traces))
    with replacing(output) as stream:
        pages = _pages()
        described = pages.policies_of(policies)
        findings = []
        for given, trace in _traces(traces):
            natives = _natives(trace) if native else []
            with progress(trace.name, len(trace) * len(described)) as advance:
                findings.append(
                    pages.find_out(
                        trace,
                        given=given,
                        chosen=policies,
                        scale=scale,
                        realloc=realloc,
                        natives=natives,
                        progress=advance,
                    )
                )
        stream.write(pages.page(findings, _command(traces, output, policies, scale, realloc)))


def _traces(given: Sequence[str]) -> Iterator[tuple[str, Trace]]:
    """Yield each trace once, with what it was given as; further ones of a name get a number."""
    taken: set[str] = set()
    for one in {find_trace(one).resolve(): one for one in given}.values():
        trace = load(one)
        names = (f"{trace.name} ({number})" for number in count(2))
        name = next(name for name in chain([trace.name], names) if name not in taken)
        taken.add(name)
        yield one, replace(trace, name=name)


def _pages() -> ModuleType:
    try:
        from simalloc.report import page  # noqa: PLC0415 - needs an extra
    except ImportError as error:
        raise SimallocError("a report needs matplotlib: pip install 'simalloc[plot]'") from error
    return page


def _natives(trace: Trace) -> list[NativeRun]:
    """Return what the allocators need that can replay the trace; one that cannot is left out."""
    runs: list[NativeRun] = []
    for allocator in installed():
        try:
            runs += replay_natively(trace, [allocator], repeats=1)
        except SimallocError as error:
            click.echo(f"simalloc: {allocator.name} is left out: {error}", err=True)
    return runs


def _command(
    traces: Sequence[str], output: Path, policies: Sequence[str], scale: int, realloc: str | None
) -> str:
    chosen = [part for name in policies for part in ("-p", name)]
    rule = ["--realloc", realloc] if realloc else []
    options = ["--scale", str(scale), *rule, "-o", output.name]
    return shlex.join(["simalloc", "report", *traces, *chosen, *options])
