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
    """A range of sizes whose classes get a value of their own from an option."""

    first: int
    last: int
    value: int


def _spans(name: str, text: str) -> tuple[Span, ...]:
    """Return the spans of an option such as `1-4096:17|100-200:1`, as jemalloc reads it."""
    found = [_SPAN.fullmatch(part) for part in text.split("|")] if text else []
    spans = [Span(*map(int, match.groups())) for match in found if match]
    if len(spans) < len(found) or len(spans) > _MAX_SPANS or any(a > b for a, b, _ in spans):
        raise PolicyError(
            f"{name} is {text!r}; it takes up to {_MAX_SPANS} of FROM-TO:NUMBER, with | between "
            "them and all in single quotes, as in '1-4096:17|100-200:1'"
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

    version: Annotated[Version, "The release whose rules are used."] = Version.V5_3_1
    cores: Annotated[
        int, Count(1, 1 << 12), "The processors that the number of arenas depends on."
    ] = 8
    narenas: Annotated[
        int,
        Count(0, 1 << 12),
        "How many arenas threads are spread over; 0: four a core, of a single core one.",
    ] = 0
    dirty_decay_ms: Annotated[
        _Milliseconds, "Within this time freed pages are given back; 0: at once, -1: never."
    ] = 10_000
    muzzy_decay_ms: Annotated[
        _Milliseconds, "The same of pages that the system may take (MADV_FREE); 0: there are none."
    ] = 0
    tcache: Annotated[bool, "Whether threads have caches."] = True
    tcache_max: Annotated[
        _Bytes, "The largest object that a thread's cache takes; of 5.3.1 at most 32 KiB."
    ] = 32 * 1024
    lg_tcache_nslots_mul: Annotated[
        int,
        Count(-16, 16),
        "A cache holds this power of two times the regions of a slab, of each small class.",
    ] = 1
    tcache_nslots_small_min: Annotated[_Slots, "It holds at least this many, of a small class."] = (
        20
    )
    tcache_nslots_small_max: Annotated[_Slots, "It holds at most this many, of a small class."] = (
        200
    )
    tcache_nslots_large: Annotated[_Slots, "It holds this many objects of a large class."] = 20
    tcache_gc_incr_bytes: Annotated[
        int,
        Range(1, 1 << 46),
        "After this many bytes allocated, or freed, some classes of the cache are collected.",
    ] = 65536
    experimental_tcache_gc: Annotated[
        bool, "Whether 5.3.1 collects by the clock and by distance; else as 5.3.0."
    ] = True
    tcache_ncached_max: Annotated[
        str,
        "So many objects a cache of 5.3.1 holds of each class between two sizes, 0 for none, as "
        "in '1-64:200|8192-32768:0'; empty: as above.",
    ] = ""
    oversize_threshold: Annotated[
        _Bytes, "Requests this large are served by an arena of their own; below 16,384: none are."
    ] = 8 << 20
    lg_extent_max_active_fit: Annotated[
        int,
        Count(0, 63),
        "Dirty extents more than this power of two times larger than the request are not cut.",
    ] = 6
    slab_sizes: Annotated[
        str,
        "So many pages a slab has of each class between two sizes, as in '1-4096:17|100-200:1'; "
        "empty: the fewest without a rest.",
    ] = ""
    retain: Annotated[bool, "Whether addresses once mapped are kept for use again."] = True
    background_thread: Annotated[
        bool, "Whether threads of jemalloc's own give pages back when it is time."
    ] = False
    disable_large_size_classes: Annotated[
        bool,
        "Whether large objects of 5.3.1 are multiples of a page; else of the classes of 5.3.0.",
    ] = True
    calloc_madvise_threshold: Annotated[
        _Bytes, "5.3.1 clears by writing what is smaller, and by giving its pages back what is not."
    ] = 8 << 20
    cache_oblivious: Annotated[
        bool,
        "With mechanism: large objects have a page more and begin at a random place in the first.",
    ] = True
    tick: Annotated[
        int,
        Duration(0, 1 << 50, unit="ns"),
        "Nanoseconds that the clock goes an event; 0: as the trace says.",
    ] = 0
    cxx_pool: Annotated[
        bool,
        "Whether the C++ library, which Debian's is linked to, allocates its 72,704 bytes first.",
    ] = False
    stats: Annotated[
        bool,
        "Whether the program asks for statistics (mallctl), which makes a table for each arena "
        "that there may be.",
    ] = False
    started_threads: Annotated[
        int,
        Count(-1, 1 << 20),
        "Threads that are started before the first event, for each of which the C library "
        "allocates 288 bytes; -1: the trace's.",
    ] = -1
    seed: Annotated[
        int,
        Count(0, (1 << 64) - 1),
        "Where random numbers of threads begin; 0: as in the recordings of the tests.",
    ] = 0
    dirty_seed: Annotated[
        int, Count(0, (1 << 64) - 1), "Where those of the dirty pages' decay begin; 0: the same."
    ] = 0
    muzzy_seed: Annotated[
        int, Count(0, (1 << 64) - 1), "Where those of the muzzy pages' decay begin; 0: the same."
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
