"""Generated trace of Hummingbird, the file system of a caching web proxy (Bohra & Gabber 2001).

The trace is not available. These facts are taken from the paper (section 2):

- Table 1 defines the sizes and their exact counts. Files are the two ranges of sizes from 128 bytes
  on. Within each range, the frequency falls as a power of the size, which is the straight line in
  figure 1. The exponents follow from the printed bytes: 1.05 below a cluster's size, which the
  paper calls close to unity, and 2.4 above it. The largest object has 39,966,072 bytes.
- The unique data have 14.3 GB. With the mean size of a file, this is 1.35 million files. Each file
  occurs in full, and further objects repeat their sizes. This results in some 20,000 sizes; the
  paper states more than 18,000.
- Live memory is bounded and constant at 217.4 MB. Files are evicted for new objects, but only as
  many bytes as necessary, so files are long-lived. Clusters (32 KB) are created and deleted
  frequently. Figures 2 and 3 do not classify files above a cluster's size as long-lived.
- Each file and each cluster has meta-data of a fixed size, which is freed with it. In table 1,
  7.518 percent of the objects have 56 bytes and 7.011 percent are files; 3.196 percent have 40
  bytes and 2.975 percent are clusters. Therefore these are the sizes of the meta-data.
- Some meta-data is never deleted. The trace has one such object for each unique file, which serves
  to find the file again.
- Deallocations do not predict the next allocation, so the order is random.
- The trace has about 58 million events, including allocations without a deallocation.

Two properties are free choices. Permanent meta-data has 24 bytes. `FreeChoice` contains the
lifetimes of clusters, of files above a cluster's size and of all other meta-data. It also states
that a quarter of the files is used frequently and stays 13 times as long as the other files. No
fragmentation figure was used, so table 3 and figures 7 and 8 test the trace.
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
"""Objects of the full trace. With objects that are never freed, they result in 58 million events.
"""

LIVE_BYTES: Final = 217_400_000

_META: Final = {8: 25.813, 32: 23.775, 24: 9.848, 56: 7.518, 16: 7.056, 48: 6.604, 64: 3.705,
                40: 3.196, 72: 1.588}  # fmt: skip
"""Table 1: percentage of all objects, by size. Files, clusters and the sizes 80 to 120 are below.
"""

_CLUSTER: Final = 32768
_CLUSTERS: Final = (2.975, 55.935)
_META_80_120: Final = (0.911, 0.045)
_FILES: Final = (6.647, 20.197)
_LARGE_FILES: Final = (0.364, 22.370)
"""Percentages of the objects and of the bytes."""

_LARGEST: Final = 39_966_072
_UNIQUE_BYTES: Final = 14.3e9
_AVERAGE: Final = _CLUSTER * _CLUSTERS[0] / _CLUSTERS[1]
"""Mean bytes of all objects: 1,743."""

_FILE_META: Final = 56
_CLUSTER_META: Final = 40
_KEPT_META: Final = 24


@dataclass(frozen=True)
class FreeChoice:
    """Lifetimes of objects that the paper does not print.

    `passing` and `brief` are mean lifetimes in allocated objects, exponentially distributed.
    `passing` applies to clusters and to files above a cluster's size, and `brief` to meta-data that
    does not belong to a file. A fraction `frequent` of the files stays `stay` times as long as the
    mean of all files. The other files stay for a shorter time in proportion.
    """

    passing: int = 16_000
    brief: int = 1_000
    frequent: float = 0.25
    stay: float = 3.25

    @property
    def rare_stay(self) -> float:
        """Stay of other files, as a multiple of the mean of all files."""
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
    """Objects of all other meta-data, by size."""


def hummingbird(seed: int = SEED, *, objects: int = OBJECTS, choice: FreeChoice = CHOSEN) -> Trace:
    """Return a trace like Hummingbird's, with the paper's live memory at any length."""
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
    """Return the mean size in a line of table 1, from its shares of objects and of bytes."""
    return shares[1] / shares[0] * _AVERAGE


def _unique_share() -> float:
    """Return the fraction of files that are allocated for the first time."""
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
    """Return the sizes and kinds of objects in the order of allocation, and the meta-data.

    Kinds from 4 on are brief meta-data. Each file or cluster is followed by its meta-data, which
    has the same kind. The third array contains the numbers of these meta-data objects.
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
    """Return the sizes of unique files, and repeated sizes of unique files for other objects."""
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
    """Return the object before which each object is freed (`trace_of_lives`)."""
    objects = len(size)
    until = np.full(objects, objects + 1)
    for which, mean in (
        (kind > _KEPT, choice.brief),
        ((kind == _LARGE_FILE) | (kind == _CLUSTER_KIND), choice.passing),
    ):
        born = np.flatnonzero(which)
        # The meta-data is allocated before its object can die.
        until[born] = born + 2 + generator.exponential(mean, len(born)).astype(np.int64)
    until[follows] = until[follows - 1]
    files = follows[kind[follows] == _FILE] - 1
    until[files] = _evictions(size, until, files, choice, generator)
    until[files + 1] = until[files]
    until[until >= objects] = objects + 1  # frees after the end never happen
    return until


def _evictions(
    size: NDArray[np.int64],
    until: NDArray[np.int64],
    files: NDArray[np.int64],
    choice: FreeChoice,
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """Return random ends of files that free the required bytes at each allocation.

    If e of l bytes of files are evicted, each file has the risk e / l. On a clock that advances by
    this risk, a file has an exponentially distributed lifetime, and live memory always stays at its
    bound. `until` contains the ends of all other objects.
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

    While memory is `filling`, no file is evicted. The files that are live when memory is full have
    the proportions of a steady state, which contains more long-lived files.
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
