"""`python -m experiments.bounds.small`: compare the search with an exhaustive one.

The small instances are random from a seed; the kinds in `KINDS` take turns. Each instance is
written to a file and read back, like a user's input. A miss is a placement that is not minimal. A
proof is wrong if its bound is above the minimum height.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final, NamedTuple

import click
import numpy as np

from experiments.bounds.exhaustive import Buffer, Use, min_height
from experiments.run import experiment, run_command
from simalloc.bound import Effort, Timetable, best_possible, load_timetable
from simalloc.cli.progress import progress
from simalloc.errors import SimallocError
from simalloc.trace import Op, Trace

Span = tuple[int, int, int]
"""Times of an object's birth and death, and its size in bytes."""

MAX_OBJECTS: Final = 10
MAX_PARTS: Final = 5
"""Maximum number of objects with partial use, because all their addresses are enumerated."""
MAX_BYTES: Final = 8
LONGEST: Final = 4
"""Maximum lifetime of an object."""
ALIGNMENTS: Final = (1, 1, 2, 3, 4)


class Compared(NamedTuple):
    """Height that the search found, its proven bound, the minimum height, and peak live bytes."""

    found: int
    lower: int
    least: int
    live: int

    @property
    def is_wrong(self) -> bool:
        """True if the found height or the proof is impossible."""
        return not self.live <= self.lower <= self.least <= self.found

    @property
    def is_missed(self) -> bool:
        """True if the search missed a lower placement or the proof that none exists."""
        return not self.found == self.least == self.lower


def dense(rng: np.random.Generator) -> list[Buffer]:
    """Draw up to `MAX_OBJECTS` objects that fill the same bytes at all times.

    When objects die, objects of other sizes fill the freed bytes at once. No byte is ever free.
    Therefore few placements are possible, and peak live bytes are sometimes not sufficient.
    """
    free = int(rng.integers(3, MAX_BYTES + 1))
    buffers: list[Buffer] = []
    live: list[Buffer] = []
    for now in range(MAX_OBJECTS):
        while free > 0 and len(buffers) < MAX_OBJECTS:
            size = int(rng.integers(1, free + 1))
            live.append(Buffer(now, now + int(rng.integers(1, LONGEST + 1)), size))
            buffers.append(live[-1])
            free -= size
        free += sum(buffer.size for buffer in live if buffer.upper == now + 1)
        live = [buffer for buffer in live if buffer.upper > now + 1]
    return buffers


def loose(rng: np.random.Generator) -> list[Buffer]:
    """Draw up to `MAX_OBJECTS` objects with independent lifetimes and sizes."""
    count = int(rng.integers(1, MAX_OBJECTS + 1))
    lower = rng.integers(0, 2 * LONGEST, count)
    upper = lower + rng.integers(1, LONGEST + 1, count)
    size = rng.integers(1, MAX_BYTES + 1, count)
    return [*map(Buffer, lower.tolist(), upper.tolist(), size.tolist())]


def aligned(rng: np.random.Generator) -> list[Buffer]:
    """Draw objects with independent lifetimes and sizes, and with alignments."""
    return [buffer._replace(alignment=int(rng.choice(ALIGNMENTS))) for buffer in loose(rng)]


def with_gaps(rng: np.random.Generator) -> list[Buffer]:
    """Draw objects with alignments; some are unused in mid-life."""
    return [_gapped(buffer, rng, parts=False) for buffer in aligned(rng)]


def with_parts(rng: np.random.Generator) -> list[Buffer]:
    """Draw up to `MAX_PARTS` objects; some use a part of their bytes in mid-life."""
    return [_gapped(buffer, rng, parts=True) for buffer in aligned(rng)[:MAX_PARTS]]


def _gapped(buffer: Buffer, rng: np.random.Generator, *, parts: bool) -> Buffer:
    begin, end = sorted(rng.integers(buffer.lower, buffer.upper + 1, 2).tolist())
    if begin == end or (begin, end) == (buffer.lower, buffer.upper):
        return buffer
    low, high = sorted(rng.choice(buffer.size + 1, 2, replace=False).tolist()) if parts else (0, 0)
    return buffer._replace(gaps=(Use(begin, end, low, high),))


KINDS: Final[Mapping[str, Callable[[np.random.Generator], list[Buffer]]]] = MappingProxyType(
    {
        "dense": dense,
        "loose": loose,
        "aligned": aligned,
        "gaps": with_gaps,
        "parts": with_parts,
    }
)
"""Functions that draw instances."""


def trace_of(spans: Sequence[Span]) -> Trace:
    """Return the trace of objects with given lifetimes; at equal times, frees come first."""
    births = [(born, 1, number, size) for number, (born, _, size) in enumerate(spans)]
    deaths = [(died, 0, number, 0) for number, (_, died, _) in enumerate(spans)]
    events = sorted(births + deaths)
    return Trace.from_events(
        [Op.MALLOC if begins else Op.FREE for _, begins, _, _ in events],
        [number for _, _, number, _ in events],
        [size for _, _, _, size in events],
    )


def table_of(buffers: Sequence[Buffer]) -> Timetable:
    """Return the timetable of an instance, read from a file in MiniMalloc's format."""
    lines = ["id,lower,upper,size,alignment,gaps"]
    for number, (lower, upper, size, alignment, gaps) in enumerate(buffers):
        given = " ".join(
            f"{gap.begin}-{gap.end}" + (f"@{gap.low}:{gap.high}" if gap.high else "")
            for gap in gaps
        )
        lines.append(f"{number},{lower},{upper},{size},{alignment},{given}")
    with TemporaryDirectory() as folder:
        path = Path(folder, "instance.csv")
        path.write_text("\n".join([*lines, ""]))
        return load_timetable(path)[1]


def compare(buffers: Sequence[Buffer]) -> Compared:
    """Search for the best placement of an instance with both methods."""
    placement = best_possible(table_of(buffers), effort=Effort(takes_help=False))
    return Compared(placement.height, placement.lower_bound, min_height(buffers), placement.bound)


def compare_many(instances: int, seed: int, advance: Callable[[float], None]) -> str:
    """Compare both searches on `instances` instances, of all kinds, and summarise the result.

    Raises `SimallocError` if a heap or a proof is impossibly low or high.
    """
    rng = np.random.default_rng(seed)
    kinds = list(KINDS.values())
    compared = []
    for number in range(instances):
        compared.append(compare(kinds[number % len(kinds)](rng)))
        advance(1)
    wrong = [one for one in compared if one.is_wrong]
    if wrong:
        raise SimallocError(f"{len(wrong)} results are wrong, such as {wrong[0]}")
    missed = sum(one.is_missed for one in compared)
    above = sum(one.least > one.live for one in compared)
    return (
        f"The search finds the minimum and proves it on {instances - missed:,} of {instances:,} "
        f"instances of up to {MAX_OBJECTS} objects (seed {seed}). The minimum is above peak live "
        f"on {above:,} of them"
    )


@experiment("python -m experiments.bounds.small --instances 1000")
@click.option("--instances", type=click.IntRange(min=1), default=10_000, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
def command(instances: int, seed: int) -> None:
    """Compare the search with an exhaustive search on small instances, and print the result.

    The instances are in equal numbers dense, loose, aligned, with gaps, and with gaps in which a
    part of an object is in use. Fails if a result is wrong. 10,000 instances take some minutes.
    """
    with progress("small instances", instances) as advance:
        click.echo(f"{compare_many(instances, seed, advance)}.")


if __name__ == "__main__":
    sys.exit(run_command(command))
