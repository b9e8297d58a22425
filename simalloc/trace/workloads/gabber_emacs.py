"""Generated trace of Emacs in Bohra & Gabber 2001: GNU Emacs 20.7 edits a source hierarchy.

The trace is not available. These facts are taken from the paper (section 3):

- Table 2 defines the sizes and their shares. Within a range, the frequency falls as a power of the
  size that results in the printed bytes. Figure 4 shows that a size occurs either more than 1,000
  times or fewer than 32 times. Therefore a few sizes of a range with many sizes account for nearly
  all its objects.
- 73,212 files are visited, one after the other. Objects are allocated for each file and deleted
  together some time after Emacs has left the file. The delay is 64 K to 1 M allocations (figure 6),
  drawn for each file, uniformly by logarithm.
- Live memory grows throughout to 132.9 MB, because some objects are never freed. These objects are
  chosen at random so that this figure results.
- The trace has about 20 million events.

In a shorter trace, the number of files, the lifetimes and the live memory are smaller in
proportion.

Two properties are free choices: the frequent sizes, and the independence of sizes from each other
and from files. No fragmentation figure was used, so table 4 and figure 9 test the trace.
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
"""Objects of the full trace. With objects that are never freed, they result in 20 million events.
"""

LIVE_BYTES: Final = 132_900_000
FILES: Final = 73_212
LIVES: Final = (1 << 16, 1 << 20)
"""The shortest and longest lifetime in allocated objects."""

_SIZES: Final = {40: 51.335, 648: 15.625, 104: 11.368, 64: 6.013, 16: 3.926, 8: 1.496}
"""Table 2: percentage of all objects, by size."""

_AVERAGE: Final = 40 * 51.335 / 8.902
"""Mean bytes of all objects: 231."""

_RANGES: Final = {
    (24, 32): (1.549, 0.169),
    (48, 56): (3.075, 0.744),
    (72, 96): (0.141, 0.059),
    (112, 640): (3.554, 3.599),
    (656, 23568): (1.917, 35.520),
}
"""Table 2: percentages of the objects and of the bytes, by smallest and largest size."""

_FEW: Final = 8
_FREQUENT: Final = 20
_SELDOM: Final = 31
"""A range of more than `_FEW` sizes has `_FREQUENT` frequent sizes. Other sizes occur 0 to
`_SELDOM` times in the full trace."""


def gabber_emacs(seed: int = SEED, *, objects: int = OBJECTS) -> Trace:
    """Return a trace like Emacs's. A shorter trace is smaller in every respect."""
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
    """Return sizes in random order, with the counts of table 2."""
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
    """Return the sizes of a range, unordered. A range of many sizes has a few frequent sizes."""
    sizes = np.arange(smallest, largest + 1, STEP)
    mean = min(mean, largest - 0.5)  # for sizes 72 to 96, the rounded mean in table 2 exceeds 96
    if len(sizes) <= _FEW:
        return power_law(generator, count, smallest, largest, mean)
    times = generator.integers(0, round(_SELDOM * share), len(sizes), endpoint=True)
    times[-1] = max(1, times[-1])
    seldom = np.repeat(sizes, times)[: count // 2]
    left = (count * mean - seldom.sum()) / (count - len(seldom))
    drawn = power_law(generator, count - len(seldom), smallest, largest, left)
    return np.concatenate([seldom, _to_frequent(drawn, sizes)])


def _to_frequent(drawn: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the drawn sizes, each replaced by the mean of its group (`_FREQUENT` equal groups)."""
    drawn = np.sort(drawn)
    groups = np.array_split(drawn, _FREQUENT)
    return np.concatenate(
        [np.full(len(g), round(g.mean() / STEP) * STEP) for g in groups if len(g)]
    ).clip(sizes[0], sizes[-1])


def _ends(objects: int, share: float, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return the object before which each object ends, together with the objects of its file."""
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
    """Return the ends with random objects never freed, so that the live bytes are reached."""
    objects = len(size)
    candidates = generator.permutation(np.flatnonzero(until < objects))
    missing = live - float(size[until >= objects].sum())
    kept = np.searchsorted(np.cumsum(size[candidates]), missing)
    until[candidates[:kept]] = objects + 1
    until[until >= objects] = objects + 1  # frees after the end never happen
    return until
