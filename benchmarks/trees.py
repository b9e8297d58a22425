"""What trees of free blocks that are searched as published cost to replay.

`python -m benchmarks.trees` replays a trace under the allocators of the group `rezaei`
and four sequential fits, in turn, so that what else the machine does falls on all alike. Lists are
not walked (what a walk would look at is a rank), but the trees' shape is a rule of theirs: they are
gone through node by node.
"""

from __future__ import annotations

import sys
from statistics import median
from typing import TYPE_CHECKING, Final

import click

from benchmarks.command import run, say, table_option
from simalloc.heap import simulate
from simalloc.policy import GROUPS
from simalloc.report import Rounded, Table, write_table
from simalloc.trace.catalogue import load

if TYPE_CHECKING:
    from simalloc.heap import Run
    from simalloc.report import Format
    from simalloc.trace import Trace

LISTS: Final = ("first-fit-lifo", "first-fit-ao", "next-fit-ao", "best-fit-ao")
YARDSTICK: Final = "first-fit-lifo"


def policies() -> tuple[str, ...]:
    """Return the names of what is replayed."""
    return (*LISTS, *GROUPS["rezaei"])


def replay(trace: Trace, rounds: int) -> dict[str, list[Run]]:
    """Return every policy's runs, one a round."""
    runs: dict[str, list[Run]] = {name: [] for name in policies()}
    for number in range(1, rounds + 1):
        for name, own in runs.items():
            say(f"{trace.name}, round {number} of {rounds}: {name}")
            own.append(simulate(trace, name, scale=1))
    return runs


def table(trace: Trace, runs: dict[str, list[Run]]) -> Table:
    """Return a row a policy: time, the same against first fit LIFO, and what is searched."""
    seconds = {name: median(run.seconds for run in own) for name, own in runs.items()}
    rows = [
        (
            name,
            Rounded(1e9 * seconds[name] / len(trace), 0),
            Rounded(seconds[name] / seconds[YARDSTICK], 1),
            Rounded(own[0].counters.visited_mean, 1),
            Rounded(own[0].counters.visited_at_free_mean, 1),
        )
        for name, own in runs.items()
    ]
    columns = ("policy", "ns/event", f"over {YARDSTICK}", "visited", "visited at free")
    return Table(f"Time to replay {trace.name}, {len(trace):,} events", columns, rows)


@click.command()
@click.option("--trace", "names", multiple=True, default=("make", "p2c"), show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
@table_option
def command(names: tuple[str, ...], rounds: int, table_format: Format) -> None:
    """Measure the trees against the lists."""
    for name in names:
        trace = load(name)
        write_table(table(trace, replay(trace, rounds)), table_format, sys.stdout)
        sys.stdout.write("\n")


if __name__ == "__main__":
    run(command)
