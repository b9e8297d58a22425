"""The command line: `simalloc COMMAND`. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

from typing import Final

import click

from simalloc.cli.group import Command, LazyGroup

COMMANDS: Final = {
    "run": Command("simalloc.cli.run", "Replay traces under policies and print what each wastes."),
    "place": Command(
        "simalloc.cli.place", "Write where a policy puts each object, and what the heap has then."
    ),
    "pages": Command(
        "simalloc.cli.pages",
        "Print how many bytes of pages hold at least one live byte, under each policy.",
    ),
    "waste": Command(
        "simalloc.cli.waste", "Print where the bytes of a heap go when it has its peak."
    ),
    "steps": Command(
        "simalloc.cli.steps",
        "Show a small heap after each event: its blocks, and the free list in its order.",
    ),
    "sites": Command(
        "simalloc.cli.sites",
        "Say which code has the memory, and with -p which code pins the heap.",
    ),
    "settings": Command(
        "simalloc.cli.settings",
        "Recommend a malloc and its settings for a program, with a line to paste.",
    ),
    "diff": Command(
        "simalloc.cli.diff",
        "Say whether a change helped: two recordings of a program side by side.",
    ),
    "report": Command(
        "simalloc.cli.report",
        "Write a page: which malloc and which setting for a program, and where its memory goes.",
    ),
    "best-possible": Command(
        "simalloc.cli.best_possible",
        "Find how small the heap could be if the whole trace were known beforehand.",
    ),
    "info": Command(
        "simalloc.cli.info",
        "Print what traces ask for: sizes, lifetimes, peaks, reallocs, threads.",
    ),
    "device": Command(
        "simalloc.cli.device",
        "Say what a program would need of a GPU under other settings of PyTorch's allocator.",
    ),
    "snapshot": Command(
        "simalloc.cli.snapshot",
        "Print what the memory of a running process is: live, cached, free, and what keeps it.",
    ),
    "record": Command("simalloc.cli.record", "Run COMMAND and record what it asks of malloc."),
    "board": Command(
        "simalloc.cli.board",
        "Copy the recorder for boards, two files in C, to a folder.",
    ),
    "examples": Command(
        "simalloc.cli.examples", "Copy a plan, a log, a snapshot and two recordings to try."
    ),
    "import": Command("simalloc.cli.import_log", "Turn an allocation log into a trace."),
    "export": Command("simalloc.cli.export", "Write a trace as a log that other tools read."),
    "generate": Command(
        "simalloc.cli.generate", "Generate a synthetic trace from sizes, lifetimes and phases."
    ),
    "native": Command(
        "simalloc.cli.native", "Replay traces through real allocators and print what each needs."
    ),
    "sweep": Command(
        "simalloc.cli.sweep", "Replay many traces under many policies, and keep a row for each."
    ),
    "results": Command(
        "simalloc.cli.results", "Print the results of sweeps: all runs, a pivot, or a ranking."
    ),
    "compare": Command("simalloc.cli.compare", "Print what changed between two files of results."),
    "merge": Command("simalloc.cli.merge", "Put the runs of several files of results into one."),
    "traces": Command("simalloc.cli.traces", "List the catalogue of traces."),
    "policies": Command(
        "simalloc.cli.policies", "List the catalogue of policies, or say all that is known of one."
    ),
}
"""Every command by its name: its module, which holds it as `command`, and its summary."""


def _print_version(context: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001 - click passes a flag
    if not asked:
        return
    from simalloc.version import code_version  # noqa: PLC0415 - reads the sources

    click.echo(f"simalloc {code_version()}")
    context.exit()


@click.group(
    cls=LazyGroup,
    lazy_commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExample:\n  simalloc run espresso -p first-fit-ao -p best-fit-lifo:growth=64K",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the release and a digest of the sources that decide results, and exit.",
)
def main() -> None:
    """Replay a program's allocations under any placement policy and see what each wastes."""
