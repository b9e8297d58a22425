"""The command line: `simalloc COMMAND`. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

from typing import Final

import click

from simalloc.cli.group import Command, LazyGroup
from simalloc.cli.messages import echo
from simalloc.memory import state_needs_by

SECTIONS: Final = {
    "Trace": {
        "record": Command(
            "simalloc.cli.record", "Record the malloc calls of COMMAND or of a running process."
        ),
        "snapshot": Command(
            "simalloc.cli.snapshot",
            "Print the parts of the memory of a running process or a core file.",
        ),
        "import": Command("simalloc.cli.import_log", "Convert an allocation log to a trace."),
        "export": Command("simalloc.cli.export", "Convert a trace to a log that other tools read."),
        "generate": Command(
            "simalloc.cli.generate", "Generate a synthetic trace from sizes, lifetimes and phases."
        ),
        "info": Command(
            "simalloc.cli.info",
            "Print statistics of traces: sizes, lifetimes, peaks, reallocs, threads.",
        ),
        "traces": Command("simalloc.cli.traces", "List the catalogue of traces."),
        "board": Command(
            "simalloc.cli.board", "Copy the recorder for boards (two C files) to a folder."
        ),
    },
    "Simulate": {
        "run": Command(
            "simalloc.cli.run", "Replay traces under policies and print the fragmentation of each."
        ),
        "place": Command(
            "simalloc.cli.place",
            "Write the address of each object and the size of the heap after each event.",
        ),
        "pages": Command(
            "simalloc.cli.pages",
            "Print the bytes in pages with at least one live byte, under each policy.",
        ),
        "waste": Command("simalloc.cli.waste", "Print where the bytes of a heap go."),
        "steps": Command(
            "simalloc.cli.steps",
            "Show a small heap after each event: its blocks and its free list.",
        ),
        "best-possible": Command(
            "simalloc.cli.best_possible",
            "Compute the smallest heap for a trace that is known in advance.",
        ),
    },
    "Decide": {
        "settings": Command(
            "simalloc.cli.settings",
            "Recommend a malloc and its settings for a program.",
        ),
        "sites": Command(
            "simalloc.cli.sites",
            "Print which code allocated the memory and, with -p, which code pins the heap.",
        ),
        "diff": Command("simalloc.cli.diff", "Compare two recordings of a program."),
        "report": Command(
            "simalloc.cli.report",
            "Write a page on a program's memory and the best malloc and settings for it.",
        ),
        "pool": Command(
            "simalloc.cli.pool", "Find the smallest fixed pool that never refuses a request."
        ),
        "native": Command(
            "simalloc.cli.native", "Replay traces through real allocators and print their memory."
        ),
        "device": Command(
            "simalloc.cli.device",
            "Compare settings of PyTorch's allocator by the GPU memory that a program needs.",
        ),
    },
    "Batch": {
        "sweep": Command(
            "simalloc.cli.sweep", "Replay many traces under many policies, and store the results."
        ),
        "results": Command(
            "simalloc.cli.results", "Print the results of sweeps: all runs, a pivot, or a ranking."
        ),
        "compare": Command(
            "simalloc.cli.compare", "Print the differences between two result files."
        ),
        "merge": Command("simalloc.cli.merge", "Merge the runs of several result files."),
    },
    "Reference": {
        "policies": Command(
            "simalloc.cli.policies", "List the catalogue of policies, or describe one."
        ),
        "examples": Command(
            "simalloc.cli.examples",
            "Copy a plan, a log, a snapshot, two recordings and a malloc to a folder.",
        ),
    },
}
"""Every command by its section of the help and its name: its module and its summary."""

COMMANDS: Final = {name: command for part in SECTIONS.values() for name, command in part.items()}


def _print_version(context: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001 - click passes a flag
    if not asked:
        return
    from simalloc.version import code_version  # noqa: PLC0415 - reads the sources

    echo(f"simalloc {code_version()}")
    context.exit()


@click.group(
    cls=LazyGroup,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExample:\n  simalloc run espresso -p first-fit-ao -p best-fit-lifo:growth=64K",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the release and a digest of the code that computes results, and exit.",
)
def main() -> None:
    """Replay a program's allocations under any placement policy and measure the fragmentation."""
    state_needs_by(lambda text: echo(f"simalloc: {text}", err=True))
