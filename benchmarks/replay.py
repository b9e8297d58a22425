"""`python -m benchmarks.replay`: nanoseconds an event of every policy, beside real allocators."""

from __future__ import annotations

import itertools
import json
import sys
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

import click

from benchmarks.contest import Contest, geometric_mean, hold
from benchmarks.environment import environment
from simalloc.heap.native import GLIBC, installed
from simalloc.policy import CATALOGUE
from simalloc.policy import policy as find_policy
from simalloc.report import Table, write_table
from simalloc.trace.catalogue import load

if TYPE_CHECKING:
    from collections.abc import Sequence

TRACES: Final = "espresso,gcc,ghostscript,p2c,perl,gawk,cfrac"


@click.command()
@click.option("--traces", default=TRACES, show_default=True, help="Names or files, with commas.")
@click.option(
    "--policies", default="all", show_default=True, help="Names, with semicolons or commas."
)
@click.option("--repeats", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--json", "target", type=click.Path(dir_okay=False), help="Write every figure there.")
def main(traces: str, policies: str, repeats: int, target: str | None) -> None:
    """Time the replay of traces under policies, and through the allocators that are installed."""
    described = (
        list(CATALOGUE.values())
        if policies == "all"
        else [find_policy(name) for name in policies.split(";" if ":" in policies else ",")]
    )
    others = [allocator for allocator in installed() if allocator != GLIBC]
    contests = [
        contest
        for name in traces.split(",")
        for contest in hold(load(name), described, others, repeats, _say)
    ]
    for table in tables(contests):
        write_table(table, "table", sys.stdout)
    if target is not None:
        _write(Path(target), contests)


def tables(contests: Sequence[Contest]) -> list[Table]:
    """Return times by glibc's, and nanoseconds an event: a row a contestant, a column a trace."""
    ratios = {(contest.contestant, contest.trace): contest.ratio for contest in contests}
    times = {
        (contest.contestant, contest.trace): median(contest.nanoseconds) for contest in contests
    }
    for trace in {contest.trace for contest in contests}:
        passes = [time for contest in contests if contest.trace == trace for time in contest.glibc]
        times["glibc", trace] = median(passes)
    return [
        _table("Nanoseconds of CPU an event, median", times),
        _table("Times glibc's, median of the passes side by side", ratios),
    ]


def _table(title: str, cells: dict[tuple[str, str], float]) -> Table:
    names = list(dict.fromkeys(name for name, _ in cells))
    traces = list(dict.fromkeys(trace for _, trace in cells))
    rows = {name: [[cells[name, trace]] for trace in traces] for name in names}
    policies = [name for name in names if name.partition(":")[0] in CATALOGUE]
    if policies:
        rows["all policies"] = [[cells[name, trace] for name in policies] for trace in traces]
    return Table(
        title,
        ("", *traces, "geometric mean"),
        [
            [name, *map(geometric_mean, columns), geometric_mean(itertools.chain(*columns))]
            for name, columns in rows.items()
        ],
    )


def _say(what: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"{what:<79}\r")


def _write(target: Path, contests: Sequence[Contest]) -> None:
    whole = {
        "environment": environment(),
        "contests": [{**asdict(contest), "ratio": contest.ratio} for contest in contests],
    }
    partial = target.with_name(target.name + ".part")
    partial.write_text(json.dumps(whole, indent=1) + "\n")
    partial.replace(target)


if __name__ == "__main__":
    main()
