"""Hummingbird, generated: the file system of a caching web proxy in Bohra & Gabber 2001.

The trace is not available. These facts are taken from the paper (section 2):

- Sizes and their shares: table 1, count by count. Files are the two ranges of sizes from 128 bytes
  on; within each, the frequency of a size falls as a power of it, which is the straight line of
  figure 1. The power follows from the printed bytes: 1.05 below a cluster's size, which the paper
  calls close to unity, and 2.4 above it. The largest object has 39,966,072 bytes.
- 14.3 GB of unique data. By the mean size of a file that is 1.35 million files; each is seen in
  full, and further objects repeat sizes of theirs. There are then some 20,000 sizes; the paper has
  more than 18,000.
- Live memory is bounded, and flat at 217.4 MB. Files make room for new objects: only the bytes
  needed are evicted, so they are long-lived. Clusters (32 KB) are created and deleted
  frequently; figures 2 and 3 do not call files above a cluster's size long-lived.
- Files and clusters have meta-data of a fixed size each, which goes with them. Table 1 has 7.518
  percent of 56 bytes for 7.011 percent of files, and 3.196 of 40 for 2.975 of clusters: these two.
- Some meta-data is never deleted: here one object for each unique file, by which it is found again.
- Deallocations do not predict the next allocation: the order is random.
- About 58 million events, allocations without a deallocation among them.

Free choice: the size of the meta-data that stays for ever (24 bytes), and the values of
`FreeChoice`: lives of clusters, of files above their size and of all other meta-data, and the
quarter of the files that is used frequently and stays 13 times as long as the rest. No figure of
fragmentation was used, so table 3 and figures 7 and 8 are a test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.trace import Trace
from simalloc.trace.workloads.drawn_sizes import exact_counts, power_law, power_law_ascending
from simalloc.trace.workloads.lives import trace_of_lives
from simalloc.trace.workloads.provenance import SEED, generated

OBJECTS: Final = 29_700_000
"""Of the full trace: with those that are never freed they make 58 million events."""

LIVE_BYTES: Final = 217_400_000

_META: Final = {8: 25.813, 32: 23.775, 24: 9.848, 56: 7.518, 16: 7.056, 48: 6.604, 64: 3.705,
                40: 3.196, 72: 1.588}  # fmt: skip
"""Table 1: percent of all objects, by size; files, clusters and the sizes 80 to 120 are below."""

_CLUSTER: Final = 32768
_CLUSTERS: Final = (2.975, 55.935)
_META_80_120: Final = (0.911, 0.045)
_FILES: Final = (6.647, 20.197)
_LARGE_FILES: Final = (0.364, 22.370)
"""Percent of the objects and of the bytes."""

_LARGEST: Final = 39_966_072
_UNIQUE_BYTES: Final = 14.3e9
_AVERAGE: Final = _CLUSTER * _CLUSTERS[0] / _CLUSTERS[1]
"""Bytes an object, of all: 1,743."""

_FILE_META: Final = 56
_CLUSTER_META: Final = 40
_KEPT_META: Final = 24


@dataclass(frozen=True)
class FreeChoice:
    """Lives of objects that the paper does not print.

    `passing` and `brief` are mean lives in objects allocated meanwhile, exponentially distributed:
    of clusters and files above their size, and of meta-data that is not a file's. The share
    `frequent` of the files stays `stay` times the mean of all files; the others stay shorter in
    proportion.
    """

    passing: int = 16_000
    brief: int = 1_000
    frequent: float = 0.25
    stay: float = 3.25

    @property
    def rare_stay(self) -> float:
        """Stay of the other files, as a multiple of the mean of all files."""
        return (1 - self.frequent * self.stay) / (1 - self.frequent)


CHOSEN: Final = FreeChoice()


@dataclass(frozen=True)
class _Numbers:
    """Number of objects of each kind."""

    files: int
    large: int
    clusters: int
    kept: int
    brief: dict[int, int]
    """All other meta-data, by size."""


def hummingbird(seed: int = SEED, *, objects: int = OBJECTS, choice: FreeChoice = CHOSEN) -> Trace:
    """Return a trace like Hummingbird's: live memory as in the paper, at any length."""
    generator = np.random.default_rng(seed)
    numbers = _numbers(objects, generator)
    size, kind, follows = _sequence(numbers, generator)
    return trace_of_lives(
        size,
        _ends(size, kind, follows, choice, generator),
        name="hummingbird (generated)",
        provenance=_provenance(seed, objects),
    )


def _mean(shares: tuple[float, float]) -> float:
    """Return the mean size of a line of table 1, from its shares of objects and of bytes."""
    return shares[1] / shares[0] * _AVERAGE


def _unique_share() -> float:
    """Return the share of unique files: allocated for the first time."""
    allocated = (_FILES[1] + _LARGE_FILES[1]) / 100 * _AVERAGE * OBJECTS
    return _UNIQUE_BYTES / allocated


def _numbers(objects: int, generator: np.random.Generator) -> _Numbers:
    shares = (_FILES[0], _LARGE_FILES[0], _CLUSTERS[0], _META_80_120[0], *_META.values())
    files, large, clusters, odd, *rest = exact_counts(shares, objects)
    meta = dict(zip(_META, rest, strict=True))
    meta[_FILE_META] -= files + large
    meta[_CLUSTER_META] -= clusters
    kept = round((files + large) * _unique_share())
    meta[_KEPT_META] -= kept
    sizes, counts = np.unique(
        power_law(generator, odd, 80, 120, _mean(_META_80_120)), return_counts=True
    )
    meta |= dict(zip(sizes.tolist(), counts.tolist(), strict=True))
    return _Numbers(files, large, clusters, kept, meta)


_FILE, _LARGE_FILE, _CLUSTER_KIND, _KEPT = range(4)


def _sequence(
    numbers: _Numbers, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Return the sizes in the order of allocation, and what each object is.

    Kinds from 4 on are brief meta-data. Each file or cluster is followed by its meta-data, of the
    same kind: those are the objects whose numbers come third.
    """
    counts = (numbers.files, numbers.large, numbers.clusters, numbers.kept, *numbers.brief.values())
    kinds = np.repeat(np.arange(len(counts), dtype=np.uint8), counts)
    generator.shuffle(kinds)
    own = np.array([0, 0, _CLUSTER, _KEPT_META, *numbers.brief])
    with_meta = kinds < _KEPT
    place = np.arange(len(kinds)) + np.cumsum(with_meta) - with_meta
    size = np.empty(len(kinds) + np.count_nonzero(with_meta), np.int64)
    kind = np.empty(len(size), np.uint8)
    size[place], kind[place] = own[kinds], kinds
    meta = np.array([_FILE_META, _FILE_META, _CLUSTER_META])
    follows = place[with_meta] + 1
    size[follows], kind[follows] = meta[kinds[with_meta]], kinds[with_meta]
    for which, count, range_, shares in (
        (_FILE, numbers.files, (128, _CLUSTER - 8), _FILES),
        (_LARGE_FILE, numbers.large, (_CLUSTER + 8, _LARGEST), _LARGE_FILES),
    ):
        size[place[kinds == which]] = _file_sizes(generator, count, *range_, _mean(shares))
    return size, kind, follows


def _file_sizes(
    generator: np.random.Generator, count: int, smallest: int, largest: int, mean: float
) -> NDArray[np.int64]:
    """Return sizes of unique files, and for the rest of the objects sizes of some of them again."""
    unique = power_law_ascending(max(1, round(count * _unique_share())), smallest, largest, mean)
    again = unique[np.linspace(0, len(unique) - 1, count - len(unique)).astype(np.int64)]
    if largest == _LARGEST:
        unique[-1] = largest
    return generator.permutation(np.concatenate([unique, again]))


def _ends(
    size: NDArray[np.int64],
    kind: NDArray[np.uint8],
    follows: NDArray[np.int64],
    choice: FreeChoice,
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """Return just before which object each is freed (`trace_of_lives`)."""
    objects = len(size)
    until = np.full(objects, objects + 1)
    for which, mean in (
        (kind > _KEPT, choice.brief),
        ((kind == _LARGE_FILE) | (kind == _CLUSTER_KIND), choice.passing),
    ):
        born = np.flatnonzero(which)
        # Its meta-data is allocated before it can die.
        until[born] = born + 2 + generator.exponential(mean, len(born)).astype(np.int64)
    until[follows] = until[follows - 1]
    files = follows[kind[follows] == _FILE] - 1
    until[files] = _evictions(size, until, files, choice, generator)
    until[files + 1] = until[files]
    until[until >= objects] = objects + 1  # what would be freed later is not freed
    return until


def _evictions(
    size: NDArray[np.int64],
    until: NDArray[np.int64],
    files: NDArray[np.int64],
    choice: FreeChoice,
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the random ends of files, which make the required room at each allocation.

    If e of l bytes of files are evicted, each file is at a risk of e / l. Time runs by that risk,
    so a file lives for an exponentially distributed time, and live memory always stays at its
    bound. `until` has the ends of all other objects.
    """
    objects = len(size)
    of_files, others = np.zeros(objects), size.astype(np.float64)
    for part in (files, files + 1):
        of_files[part], others[part] = size[part], 0
    died = np.bincount(np.minimum(until, objects), others, objects + 1)[:objects]
    room = LIVE_BYTES - np.cumsum(others - died)
    arrived = np.cumsum(of_files)
    evicted = np.maximum.accumulate(np.maximum(arrived - room, 0))
    going = np.diff(evicted, prepend=0.0)
    time = np.cumsum(np.log1p(going / np.maximum(arrived - evicted, 1)))
    ends = time[files] + _stays(choice, generator, time[files] == 0)
    return np.maximum(np.searchsorted(time, ends), files + 2)


def _stays(
    choice: FreeChoice, generator: np.random.Generator, filling: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the stays of files, 1 on average.

    While memory is `filling` no file is evicted. Files that are live when it is full are in the
    proportion of a steady state: the long-lived ones are more.
    """
    frequent = generator.random(len(filling)) < np.where(
        filling, choice.frequent * choice.stay, choice.frequent
    )
    mean = np.where(frequent, choice.stay, choice.rare_stay)
    return np.asarray(mean * generator.exponential(size=len(filling)))


def _provenance(seed: int, objects: int) -> dict[str, Any]:
    return generated(
        "Hummingbird (a file system for caching web proxies)",
        "four days of a proxy's log, 4.8 million requests",
        seed,
        source="Bohra & Gabber 2001, section 2, table 1 and figures 1 to 3",
        departures="Order, lifetimes of clusters and meta-data, and which files stay, are random"
        f" and in part chosen freely. {_length(objects)}",
    )


def _length(objects: int) -> str:
    share = objects / OBJECTS
    return "" if share == 1 else f"It has {share:.3g} of the events, and as much live memory."
