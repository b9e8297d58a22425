"""`python -m experiments.bounds.small`: the search against an exhaustive one, on small instances.

The instances are drawn by chance from a seed: a few objects that leave no byte free.
Some best placement comes of putting objects in turn, by address, as low as those before allow; so
all orders are gone through.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import click
import numpy as np

from experiments.run import experiment, run_command
from simalloc.bound import Timetable, best_possible
from simalloc.cli.progress import progress
from simalloc.errors import SimallocError
from simalloc.trace import Op, Trace

Span = tuple[int, int, int]
"""When an object is born, when it dies, and its bytes."""
Placed = tuple[Span, int]
"""A life, and its address."""

MOST_OBJECTS: Final = 10
MOST_BYTES: Final = 8
LONGEST: Final = 4
"""An object lives so long at most."""


class Compared(NamedTuple):
    """The heap of the search beside the least one, and peak live bytes, of one instance."""

    found: int
    least: int
    live: int


def draw(rng: np.random.Generator) -> list[Span]:
    """Draw an instance of up to `MOST_OBJECTS` objects that fill the same bytes at all times.

    What dies makes room for others, of other sizes, that fill it at once. Nothing is ever free, so
    that there is little choice, and peak live bytes are sometimes too few.
    """
    free = int(rng.integers(3, MOST_BYTES + 1))
    spans: list[Span] = []
    live: list[Span] = []
    for now in range(MOST_OBJECTS):
        while free > 0 and len(spans) < MOST_OBJECTS:
            size = int(rng.integers(1, free + 1))
            live.append((now, now + int(rng.integers(1, LONGEST + 1)), size))
            spans.append(live[-1])
            free -= size
        free += sum(size for _, died, size in live if died == now + 1)
        live = [span for span in live if span[1] > now + 1]
    return spans


def trace_of(spans: Sequence[Span]) -> Trace:
    """Return the trace of objects that live from a time to before another; frees come first."""
    births = [(born, 1, number, size) for number, (born, _, size) in enumerate(spans)]
    deaths = [(died, 0, number, 0) for number, (_, died, _) in enumerate(spans)]
    events = sorted(births + deaths)
    return Trace.from_events(
        [Op.MALLOC if begins else Op.FREE for _, begins, _, _ in events],
        [number for _, _, number, _ in events],
        [size for _, _, _, size in events],
    )


def compare(spans: Sequence[Span]) -> Compared:
    """Search for the best placement of an instance in both ways."""
    placement = best_possible(trace_of(spans))
    return Compared(placement.height, least_height(placement.table), placement.bound)


def least_height(table: Timetable) -> int:
    """Return the least height of all placements of the same lives, by going through all orders."""
    lives = [*zip(table.born.tolist(), table.died.tolist(), table.size.tolist(), strict=True)]
    return _least(lives, [], int(table.size.sum()), table.peak)


def _least(left: Sequence[Span], placed: Sequence[Placed], best: int, bound: int) -> int:
    """Return the least height with the rest of the lives above what is placed, at most `best`."""
    if not left:
        return max(address + size for (_, _, size), address in placed)
    last = placed[-1][1] if placed else 0
    for number, life in enumerate(left):
        address = _lowest(life, placed)
        if last <= address < best - life[2]:
            rest = [*left[:number], *left[number + 1 :]]
            best = min(best, _least(rest, [*placed, (life, address)], best, bound))
        if best == bound:
            break
    return best


def _lowest(life: Span, placed: Sequence[Placed]) -> int:
    """Return the lowest address for a life, given those with lower ones or the same."""
    born, died, size = life
    address = 0
    for (begins, ends, taken), start in placed:
        meets = begins < died and born < ends
        if meets and start < address + size and address < start + taken:
            address = start + taken
    return address


def compare_many(instances: int, seed: int, advance: Callable[[float], None]) -> str:
    """Compare both searches on this many instances, and say what came out.

    Raises `SimallocError` if a heap is found that is lower than can be.
    """
    rng = np.random.default_rng(seed)
    compared = []
    for _ in range(instances):
        compared.append(compare(draw(rng)))
        advance(1)
    wrong = [one for one in compared if not one.live <= one.least <= one.found]
    if wrong:
        raise SimallocError(f"{len(wrong)} heaps are lower than can be, such as {wrong[0]}")
    missed = sum(one.found > one.least for one in compared)
    above = sum(one.least > one.live for one in compared)
    return (
        f"{instances:,} instances of up to {MOST_OBJECTS} objects (seed {seed}): the search finds "
        f"the least heap of {instances - missed:,} and a larger one of {missed:,}; the least heap "
        f"is above peak live for {above:,}"
    )


@experiment("python -m experiments.bounds.small --instances 1000")
@click.option("--instances", type=click.IntRange(min=1), default=30_000, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
def command(instances: int, seed: int) -> None:
    """Compare the search with an exhaustive one on small instances, and say what came out.

    Fails if a heap is found that is lower than the least one. 30,000 instances take some minutes.
    """
    with progress("small instances", instances) as advance:
        click.echo(f"{compare_many(instances, seed, advance)}.")


if __name__ == "__main__":
    sys.exit(run_command(command))
