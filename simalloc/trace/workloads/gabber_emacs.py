"""Emacs of Bohra & Gabber 2001, generated: GNU Emacs 20.7 edits every file of a source hierarchy.

The trace is not available. These facts are taken from the paper (section 3):

- Sizes and their shares: table 2. Within a range of sizes the frequency falls as a power of the
  size that gives the printed bytes. As figure 4 shows, a size comes more than 1,000 times or
  fewer than 32 times: where a range has many sizes, a few of them take nearly all objects.
- 73,212 files are visited, one after the other. Objects are allocated for each file and deleted
  together some time after Emacs has moved on: 64 K to 1 M allocations later (figure 6), drawn for
  each file, uniformly by logarithm.
- Live memory grows throughout, to 132.9 MB: some objects are never freed, here a random choice that
  makes that figure.
- About 20 million events.

A shorter trace has fewer files, shorter lives and less live memory, all in proportion.

Free choice: the frequent sizes, and the independence of sizes from each other and from files. No
figure of fragmentation was used, so table 4 and figure 9 are a test.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.trace import Trace
from simalloc.trace.workloads.drawn_sizes import STEP, exact_counts, power_law
from simalloc.trace.workloads.lives import trace_of_lives
from simalloc.trace.workloads.provenance import SEED, generated

OBJECTS: Final = 10_350_000
"""Of the full trace: with those that are never freed they make 20 million events."""

LIVE_BYTES: Final = 132_900_000
FILES: Final = 73_212
LIVES: Final = (1 << 16, 1 << 20)
"""The shortest and longest life, in objects allocated meanwhile."""

_SIZES: Final = {40: 51.335, 648: 15.625, 104: 11.368, 64: 6.013, 16: 3.926, 8: 1.496}
"""Table 2: percent of all objects, by size."""

_AVERAGE: Final = 40 * 51.335 / 8.902
"""Bytes an object, of all: 231."""

_RANGES: Final = {
    (24, 32): (1.549, 0.169),
    (48, 56): (3.075, 0.744),
    (72, 96): (0.141, 0.059),
    (112, 640): (3.554, 3.599),
    (656, 23568): (1.917, 35.520),
}
"""Table 2: percent of the objects and of the bytes, by smallest and largest size."""

_FEW: Final = 8
_FREQUENT: Final = 20
_SELDOM: Final = 31
"""A range of more than `_FEW` sizes has `_FREQUENT` frequent ones; others come 0 to `_SELDOM` times
in the full trace."""


def gabber_emacs(seed: int = SEED, *, objects: int = OBJECTS) -> Trace:
    """Return a trace like Emacs's; a shorter trace is smaller in every respect."""
    generator = np.random.default_rng(seed)
    share = objects / OBJECTS
    size = _sizes(objects, share, generator)
    until = _kept(size, _ends(objects, share, generator), share * LIVE_BYTES, generator)
    return trace_of_lives(
        size,
        until,
        name="gabber-emacs (generated)",
        provenance=generated(
            "GNU Emacs 20.7",
            f"edits {FILES:,} source files of Linux kernels",
            seed,
            source="Bohra & Gabber 2001, section 3, table 2 and figures 4 to 6",
            departures="Order and lifetimes are random."
            + ("" if share == 1 else f" It is {share:.3g} of the full trace in every respect."),
        ),
    )


def _sizes(objects: int, share: float, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return sizes in random order, as many of each as table 2 has."""
    in_ranges = [percent for percent, _ in _RANGES.values()]
    counts = exact_counts((*_SIZES.values(), *in_ranges), objects)
    own, ranges = counts[: len(_SIZES)], counts[len(_SIZES) :]
    parts = [np.repeat([*_SIZES], own)]
    for (smallest, largest), (percent, by_bytes), count in zip(
        _RANGES, _RANGES.values(), ranges, strict=True
    ):
        mean = by_bytes / percent * _AVERAGE
        parts.append(_range(generator, count, smallest, largest, mean, share))
    size = np.concatenate(parts)
    generator.shuffle(size)
    return size


def _range(
    generator: np.random.Generator,
    count: int,
    smallest: int,
    largest: int,
    mean: float,
    share: float,
) -> NDArray[np.int64]:
    """Return the sizes of a range, in no order: where it has many, a few are frequent."""
    sizes = np.arange(smallest, largest + 1, STEP)
    mean = min(mean, largest - 0.5)  # table 2 rounds the mean of 72 to 96 to above 96
    if len(sizes) <= _FEW:
        return power_law(generator, count, smallest, largest, mean)
    times = generator.integers(0, round(_SELDOM * share), len(sizes), endpoint=True)
    times[-1] = max(1, times[-1])
    seldom = np.repeat(sizes, times)[: count // 2]
    left = (count * mean - seldom.sum()) / (count - len(seldom))
    drawn = power_law(generator, count - len(seldom), smallest, largest, left)
    return np.concatenate([seldom, _to_frequent(drawn, sizes)])


def _to_frequent(drawn: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sizes drawn, each replaced by the mean of one of `_FREQUENT` equal groups."""
    drawn = np.sort(drawn)
    groups = np.array_split(drawn, _FREQUENT)
    return np.concatenate(
        [np.full(len(g), round(g.mean() / STEP) * STEP) for g in groups if len(g)]
    ).clip(sizes[0], sizes[-1])


def _ends(objects: int, share: float, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return just before which object each ends: together with all objects of its file."""
    files = max(1, round(share * FILES))
    first = np.sort(generator.choice(objects, min(files, objects), replace=False))
    first[:1] = 0
    number = np.diff(first, append=objects)
    shortest, longest = np.log(LIVES)
    life = share * np.exp(generator.uniform(shortest, longest, len(first)))
    return np.repeat(first + number + life.astype(np.int64), number)


def _kept(
    size: NDArray[np.int64],
    until: NDArray[np.int64],
    live: float,
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the ends with some objects never freed: as many at random as make the live bytes."""
    objects = len(size)
    candidates = generator.permutation(np.flatnonzero(until < objects))
    missing = live - float(size[until >= objects].sum())
    kept = np.searchsorted(np.cumsum(size[candidates]), missing)
    until[candidates[:kept]] = objects + 1
    until[until >= objects] = objects + 1  # what would be freed later is not freed
    return until
