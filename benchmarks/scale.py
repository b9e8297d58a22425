"""`python -m benchmarks.scale`: the cost of an event by the size of the heap."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Final

import click

from benchmarks.command import policies_named, run, say, table_option, write_json
from benchmarks.cost import (
    Cost,
    bytes_a_live_object,
    cost_of_cache_lines,
    cost_of_glibc,
    cost_of_policy,
)
from benchmarks.steady import Kind, steady
from simalloc.policy import Policy, spell
from simalloc.report import Format, Rounded, Table, write_table

MEMORY_FROM: Final = 100_000
"""Minimum number of live objects or free blocks for a reliable memory figure per object."""


def _sizes(_context: click.Context, _option: click.Parameter, text: str) -> list[int]:
    """Read integers separated by commas; 1e6 is an integer too."""
    try:
        sizes = [int(float(part)) for part in text.split(",") if part]
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{text!r} is not a list of numbers such as 1e4,1e5") from None
    if any(size < 2 for size in sizes):
        raise click.BadParameter("the minimum size is 2")
    return sizes


@click.command()
@click.option("--live", callback=_sizes, default="1e4,1e5,1e6", show_default=True)
@click.option("--free", callback=_sizes, default="1e2,1e3,1e4,1e5,1e6", show_default=True)
@click.option("--policies", default="@johnstone-wilson", show_default=True)
@click.option("--turns", type=click.IntRange(min=1), default=500_000, show_default=True)
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True)
@table_option
@click.option("--json", "target", type=click.Path(dir_okay=False), help="JSON file of all figures.")
def main(
    *,
    live: list[int],
    free: list[int],
    policies: str,
    turns: int,
    repeats: int,
    table_format: Format,
    target: str | None,
) -> None:
    """Measure a free and a malloc with many live objects, and with many free blocks.

    A steady state of TURNS pairs of free and malloc is timed after the heap has reached its size.
    Memory is the growth of a process per live object.
    """
    described = policies_named(policies)
    sizes: list[tuple[Kind, int]] = [("live", size) for size in live]
    sizes += [("free", size) for size in free]
    costs = [cost for kind, size in sizes for cost in _costs(kind, size, described, turns, repeats)]
    memory = {
        (kind, size, spell(policy)): bytes_a_live_object(kind, size, policy)
        for kind, size in sizes
        if size >= MEMORY_FROM
        for policy in described
    }
    for table in _tables(costs, memory):
        write_table(table, table_format, sys.stdout)
    if target is not None:
        bytes_each = [[*key, figure] for key, figure in memory.items()]
        figures = {"costs": [asdict(cost) for cost in costs], "bytes_a_live_object": bytes_each}
        write_json(target, figures)


def _costs(
    kind: Kind, size: int, policies: Sequence[Policy], turns: int, repeats: int
) -> list[Cost]:
    made = steady(kind, size, turns)
    costs = []
    for policy in policies:
        say(f"{size:,} {kind}: {policy.name}")
        costs.append(cost_of_policy(made, policy, kind, size, repeats))
    costs.append(cost_of_glibc(made, kind, size, repeats))
    if kind == "live":
        costs.append(cost_of_cache_lines(kind, size, turns, repeats))
    return costs


def _tables(costs: Sequence[Cost], memory: dict[tuple[Kind, int, str], float]) -> list[Table]:
    live = [cost for cost in costs if cost.kind == "live"]
    free = [cost for cost in costs if cost.kind == "free"]
    tables = [
        _table("Nanoseconds per event, by live objects", live, lambda cost: cost.nanoseconds),
        _table("Nanoseconds per event, by free blocks", free, lambda cost: cost.nanoseconds),
        _table("Free blocks in the steady state", free, lambda cost: cost.free_blocks),
    ]
    for kind, those in (("live", live), ("free", free)):
        large = [cost for cost in those if (cost.kind, cost.size, cost.contestant) in memory]
        title = f"Bytes of memory per live object, by {kind}"
        tables.append(
            _table(title, large, lambda cost: memory[cost.kind, cost.size, cost.contestant])
        )
    return [table for table in tables if table.rows]


def _table(title: str, costs: Sequence[Cost], value: Callable[[Cost], float | None]) -> Table:
    cells = {(cost.contestant, cost.size): value(cost) for cost in costs}
    sizes = sorted({cost.size for cost in costs})
    names = dict.fromkeys(cost.contestant for cost in costs if value(cost) is not None)
    return Table(
        title,
        ("", *(f"{size:,}" for size in sizes)),
        [[name, *(_rounded(cells.get((name, size))) for size in sizes)] for name in names],
    )


def _rounded(value: float | None) -> Rounded | None:
    return None if value is None else Rounded(value, 1 if value < 1000 else 0)


if __name__ == "__main__":
    run(main)
