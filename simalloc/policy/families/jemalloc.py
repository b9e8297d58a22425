"""jemalloc 5.3."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar, Final, NamedTuple

from simalloc.errors import PolicyError
from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Count, Duration, Overhead, Range

_Bytes = Annotated[int, Range(0, 1 << 46)]
_Milliseconds = Annotated[int, Duration(-1, 1 << 40)]
_Slots = Annotated[int, Count(1, 8191)]

_SPAN: Final = re.compile(r"(\d{1,18})-(\d{1,18}):(\d{1,18})")
_MAX_SPANS: Final = 8
_MAX_OF_CLASS: Final = 8191
"""Maximum number of objects of a class in a cache; slabs always have fewer pages."""

SMALLEST_LARGE: Final = 16 * 1024
"""Smallest size of objects that are not allocated from slabs."""
MAX_ARENAS: Final = 4094
"""Maximum number of arenas, whatever the options."""
MAX_CACHED_SIZE: Final = 32 * 1024
"""Largest object in the caches of 5.3.1."""


class Span(NamedTuple):
    """A range of sizes whose classes an option gives a separate value."""

    first: int
    last: int
    value: int


def _spans(name: str, text: str) -> tuple[Span, ...]:
    """Return the spans of an option such as `1-4096:17|100-200:1`, as jemalloc reads it."""
    found = [_SPAN.fullmatch(part) for part in text.split("|")] if text else []
    spans = [Span(*map(int, match.groups())) for match in found if match]
    if len(spans) < len(found) or len(spans) > _MAX_SPANS or any(a > b for a, b, _ in spans):
        raise PolicyError(
            f"{name} is {text!r}; use up to {_MAX_SPANS} entries FROM-TO:NUMBER, "
            "separated by | and quoted together, such as '1-4096:17|100-200:1'"
        )
    return tuple(spans)


class Version(Enum):
    """A release of jemalloc."""

    V5_3_0 = "5.3.0"
    """May 2022."""
    V5_3_1 = "5.3.1"
    """2026: large sizes are multiples of a page, and the thread cache collects by the clock."""


def _within(limit: int, spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return the spans cut to sizes and values within the limits."""
    return tuple(
        Span(first, min(last, limit), min(value, _MAX_OF_CLASS))
        for first, last, value in spans
        if first <= limit
    )


def _packed(name: str, spans: Sequence[Span]) -> dict[str, int | str]:
    """Return an option in the core's form: `_MAX_SPANS` numbers, 0 for an unused span."""
    numbers = [first | last << 16 | (value + 1) << 32 for first, last, value in spans]
    numbers += [0] * (_MAX_SPANS - len(numbers))
    return {f"{name}[{i}]": number for i, number in enumerate(numbers)}


@dataclass(frozen=True)
class Jemalloc(HeapFamily):
    """Slabs and extents of pages in arenas, behind thread caches.

    The parameters have the names of jemalloc's own options.
    """

    family: ClassVar[str] = "jemalloc"
    reference: ClassVar[str] = "jemalloc.jemalloc:JemallocHeap"
    columns: ClassVar[tuple[str, ...]] = ("alignment", "thread", "time")
    writes_itself: ClassVar[bool] = True

    version: Annotated[Version, "Release whose rules apply."] = Version.V5_3_1
    cores: Annotated[
        int,
        Count(1, 1 << 12),
        "Number of processors, which determines the number of arenas with narenas=0.",
    ] = 8
    narenas: Annotated[
        int,
        Count(0, 1 << 12),
        "Maximum number of arenas for threads; 0: four per core, or one on a single core.",
    ] = 0
    dirty_decay_ms: Annotated[
        _Milliseconds, "Time within which dirty pages are purged; 0: immediately, -1: never."
    ] = 10_000
    muzzy_decay_ms: Annotated[
        _Milliseconds,
        "Time within which muzzy pages (MADV_FREE) are purged; 0: pages never become muzzy.",
    ] = 0
    tcache: Annotated[bool, "Give each thread a cache."] = True
    tcache_max: Annotated[
        _Bytes, "Maximum size of an object in a thread cache; 5.3.1 caches at most 32 KiB."
    ] = 32 * 1024
    lg_tcache_nslots_mul: Annotated[
        int,
        Count(-16, 16),
        "Exponent N: for each small class, the capacity of a thread cache is 2**N times the number "
        "of objects in a slab, within tcache_nslots_small_min and tcache_nslots_small_max.",
    ] = 1
    tcache_nslots_small_min: Annotated[
        _Slots, "Minimum capacity of a thread cache for each small class, in objects."
    ] = 20
    tcache_nslots_small_max: Annotated[
        _Slots, "Maximum capacity of a thread cache for each small class, in objects."
    ] = 200
    tcache_nslots_large: Annotated[
        _Slots, "Capacity of a thread cache for each large class, in objects."
    ] = 20
    tcache_gc_incr_bytes: Annotated[
        int,
        Range(1, 1 << 46),
        "Allocated bytes, or freed bytes, after which a thread collects some classes of its cache.",
    ] = 65536
    experimental_tcache_gc: Annotated[
        bool, "5.3.1: collect caches by the clock and by distance; off: by the rules of 5.3.0."
    ] = True
    tcache_ncached_max: Annotated[
        str,
        "5.3.1: capacity of a thread cache, in objects, for each class in a range of sizes, "
        "such as '1-64:200|8192-32768:0'; 0: not cached. Other classes follow the "
        "tcache_nslots parameters.",
    ] = ""
    oversize_threshold: Annotated[
        _Bytes,
        "Requests of at least this size are served by a separate arena; below 16,384: no "
        "request is.",
    ] = 8 << 20
    lg_extent_max_active_fit: Annotated[
        int,
        Count(0, 63),
        "Exponent N: a dirty extent larger than 2**N times the request is not split.",
    ] = 6
    slab_sizes: Annotated[
        str,
        "Pages of a slab, for each class in a range of sizes, such as '1-4096:17|100-200:1'. "
        "In other classes, a slab has the minimum number of pages without a remainder.",
    ] = ""
    retain: Annotated[bool, "Keep the addresses of purged pages for reuse; off: unmap them."] = True
    background_thread: Annotated[
        bool, "Purge pages in jemalloc's background threads, when the pages' decay time has passed."
    ] = False
    disable_large_size_classes: Annotated[
        bool,
        "5.3.1: round large objects to multiples of a page; off: to the classes of 5.3.0.",
    ] = True
    calloc_madvise_threshold: Annotated[
        _Bytes,
        "5.3.1: calloc clears extents below this size by writing, and larger extents by purging.",
    ] = 8 << 20
    cache_oblivious: Annotated[
        bool,
        "With mechanism=on: large objects have an extra page and begin at a random offset in "
        "their first page.",
    ] = True
    tick: Annotated[
        int,
        Duration(0, 1 << 50, unit="ns"),
        "Nanoseconds by which the clock advances per event; 0: the clock uses the times of "
        "the trace.",
    ] = 0
    cxx_pool: Annotated[
        bool,
        "Begin with the allocation of 72,704 bytes by the C++ library, to which Debian's "
        "jemalloc is linked.",
    ] = False
    stats: Annotated[
        bool,
        "The program reads statistics (mallctl), which allocates a table for each possible arena.",
    ] = False
    started_threads: Annotated[
        int,
        Count(-1, 1 << 20),
        "Number of threads started before the first event; -1: the trace's threads. The C "
        "library allocates 288 bytes for each of these threads.",
    ] = -1
    seed: Annotated[
        int,
        Count(0, (1 << 64) - 1),
        "Seed of the threads' random numbers; 0: the seed in the recordings of the tests.",
    ] = 0
    dirty_seed: Annotated[
        int,
        Count(0, (1 << 64) - 1),
        "Seed of the random numbers for the decay of dirty pages; 0: the seed in the "
        "recordings of the tests.",
    ] = 0
    muzzy_seed: Annotated[
        int,
        Count(0, (1 << 64) - 1),
        "Seed of the random numbers for the decay of muzzy pages; 0: the seed in the "
        "recordings of the tests.",
    ] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.slab_pages, self.max_cached

    @property
    def slab_pages(self) -> tuple[Span, ...]:
        """Pages of slabs by span of sizes; the last span of a class decides."""
        return _within(SMALLEST_LARGE, _spans("slab_sizes", self.slab_sizes))

    @property
    def max_cached(self) -> tuple[Span, ...]:
        """Maximum number of cached objects by span of sizes; the last span of a class decides."""
        spans = _spans("tcache_ncached_max", self.tcache_ncached_max)
        return _within(MAX_CACHED_SIZE, spans) if self.is_5_3_1 else ()

    @property
    def library_bytes(self) -> int:
        """Data of Debian's libjemalloc.so.2, the same in both releases."""
        return 68 << 10 if self.mechanism else 0

    @property
    def overhead(self) -> Overhead:
        """No overhead: all tables are outside the objects."""
        return Overhead()

    @property
    def is_5_3_1(self) -> bool:
        """True for the rules of 5.3.1."""
        return self.version is Version.V5_3_1

    @property
    def page_multiples(self) -> bool:
        """True if large objects are rounded up to whole pages only."""
        return self.is_5_3_1 and self.disable_large_size_classes

    @property
    def collects_by_clock(self) -> bool:
        """True if the thread cache is collected by the rule of 5.3.1."""
        return self.is_5_3_1 and self.experimental_tcache_gc

    @property
    def arenas(self) -> int:
        """Number of arenas over which threads are spread."""
        return min(self.narenas or (4 * self.cores if self.cores > 1 else 1), MAX_ARENAS)

    @property
    def pad(self) -> int:
        """Bytes of a large object's extent behind the object."""
        return 4096 if self.mechanism and self.cache_oblivious else 0

    @property
    def largest_cached(self) -> int:
        """The option `tcache_max`, cut to the release's limit."""
        return (
            min(self.tcache_max, MAX_CACHED_SIZE)
            if self.is_5_3_1
            else min(self.tcache_max, 8 << 20)
        )

    def seeds(self) -> tuple[int, int, int]:
        """Return the seeds of the random numbers of threads, of dirty decay and of muzzy decay."""
        recorded = _RECORDED_SEEDS[self.version]
        given = (self.seed, self.dirty_seed, self.muzzy_seed)
        thread, dirty, muzzy = (own or other for own, other in zip(given, recorded, strict=True))
        return thread, dirty, muzzy

    def spell_location(self, region: int, number: int, offset: float) -> str:  # noqa: ARG002
        """Return a location as mapping, counted from 0, and offset in it."""
        return f"{number}:{offset}"

    def figure_columns(self, names: Sequence[str]) -> Sequence[str]:
        """Return the columns: mapping and offset of an object, then jemalloc's statistics."""
        return ["map", "offset", *names]

    def spell_figures(
        self, figures: Mapping[str, int], location: tuple[int, int, float] | None
    ) -> Sequence[object]:
        """Return the values of the columns; mapping and offset are empty after a free."""
        place = ("", "") if location is None else location[1:]
        return [*place, *figures.values()]

    def core_parameters(self) -> dict[str, int | str]:
        """Return the parameters in the core's form: explicit seeds, -1 as the largest number."""
        thread, dirty, muzzy = self.seeds()
        mask = (1 << 64) - 1
        given = super().core_parameters()
        del given["slab_sizes"], given["tcache_ncached_max"]
        return given | {
            "narenas": self.arenas,
            "dirty_decay_ms": self.dirty_decay_ms & mask,
            "muzzy_decay_ms": self.muzzy_decay_ms & mask,
            "started_threads": self.started_threads & mask,
            "lg_tcache_nslots_mul": self.lg_tcache_nslots_mul & mask,
            "seed": thread,
            "dirty_seed": dirty,
            "muzzy_seed": muzzy,
            **_packed("slab_sizes", self.slab_pages),
            **_packed("tcache_ncached_max", self.max_cached),
        }


_RECORDED_SEEDS = {
    Version.V5_3_0: (0x7FFFF7CD2B78, 0x7FFFEDA11F88, 0x7FFFEDA12680),
    Version.V5_3_1: (0x7FFFF7CD2B88, 0x7FFFEDA12560, 0x7FFFEDA12C58),
}
"""Addresses from which jemalloc takes its seeds in a process without address randomisation."""
