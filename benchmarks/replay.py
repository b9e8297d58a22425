"""`python -m benchmarks.replay`: time per event of every policy, compared with real allocators."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

import click

from benchmarks.built import built
from benchmarks.command import policies_named, run, say, table_option, write_json
from benchmarks.contest import hold
from benchmarks.instructions import EVENTS, count
from benchmarks.standings import Cells, headline, nanoseconds, ratios, standings, times_the_real
from simalloc.heap.real import GLIBC, installed
from simalloc.policy import Policy
from simalloc.report import Format, write_table
from simalloc.trace.catalogue import load

TRACES: Final = "espresso,gcc,ghostscript,p2c,perl,gawk,cfrac"


@click.command()
@click.option("--traces", default=TRACES, show_default=True, help="Names or files, with commas.")
@click.option(
    "--policies",
    default="@johnstone-wilson",
    show_default=True,
    help="Names, with semicolons or commas.",
)
@click.option("--repeats", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--instructions", is_flag=True, help="Also count instructions with valgrind (slow).")
@table_option
@click.option("--json", "target", type=click.Path(dir_okay=False), help="JSON file of all figures.")
def main(
    *,
    traces: str,
    policies: str,
    repeats: int,
    instructions: bool,
    table_format: Format,
    target: str | None,
) -> None:
    """Measure the replay of traces under policies and by the installed allocators."""
    described = policies_named(policies)
    with built() as to_compare:
        others = [*(allocator for allocator in installed() if allocator != GLIBC), *to_compare]
        contests = [
            contest
            for name in traces.split(",")
            for contest in hold(load(name), described, others, repeats, say)
        ]
    beside = times_the_real(contests)
    tables = [
        standings("Nanoseconds of CPU per event, median", nanoseconds(contests), 1),
        standings("Time divided by glibc's, median of adjacent passes", ratios(contests), 2),
        *([standings("Models: time divided by the real malloc's", beside, 2)] if beside else []),
    ]
    counted = _count(traces.split(","), described) if instructions else {}
    if counted:
        tables.append(standings(f"Instructions per event, first {EVENTS:,} events", counted, 0))
    for table in tables:
        write_table(table, table_format, sys.stdout)
    if target is not None:
        figures = {
            "headline": headline(contests),
            "contests": [{**asdict(contest), "ratio": contest.ratio} for contest in contests],
            "instructions": [
                {"trace": trace, "contestant": name, "instructions": figure}
                for (name, trace), figure in counted.items()
            ],
        }
        write_json(target, figures)


def _count(traces: Sequence[str], policies: Sequence[Policy]) -> Cells:
    cells = {}
    for trace in traces:
        say(f"{trace}: instructions")
        for contestant, figure in count(trace, policies, installed()).items():
            cells[contestant, trace] = figure
    return cells


if __name__ == "__main__":
    run(main)
