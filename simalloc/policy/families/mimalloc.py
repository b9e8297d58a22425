"""mimalloc, in two releases."""

from dataclasses import dataclass, fields
from enum import Enum
from typing import Annotated, ClassVar, Final

from simalloc.errors import PolicyError
from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Amount, Count, Duration, Number, Overhead, Range

_KIB: Final = 1024
_MIB: Final = 1024 * _KIB
_SLICE: Final = 64 * _KIB
_HUGE_PAGE: Final = 2 * _MIB
_CHUNK: Final = 32 * _MIB

Milliseconds = Annotated[int, Duration(0, 1 << 32)]
"""A delay in milliseconds; 0 for no delay."""


class MimallocVersion(Enum):
    """A release of mimalloc."""

    V2_0_9 = "2.0.9"
    V3_6_0 = "3.6.0"


_OF_2: Final = frozenset(
    {
        "decommit_delay",
        "decommit_extend_delay",
        "segment_decommit_delay",
        "allow_decommit",
        "eager_commit",
        "eager_commit_delay",
        "page_reset",
        "reserve_os_memory",
    }
)
"""Options of 2.0.9 only."""

_OF_3: Final = frozenset(
    {
        "base",
        "hint_delta",
        "purge_delay",
        "arena_purge_mult",
        "purge_decommits",
        "arena_reserve",
        "arena_eager_commit",
        "arena_purge_min_size",
        "arena_purge_immediate_size",
        "allow_thp",
        "page_reclaim_on_free",
        "page_full_retain",
        "page_max_candidates",
        "page_max_reclaim",
        "page_cross_thread_max_reclaim",
        "generic_collect",
        "disallow_arena_alloc",
    }
)
"""Options of 3.6.0 only."""


class ReclaimOnFree(Enum):
    """Condition on which a free in an abandoned page makes the freeing thread the page's owner."""

    NEVER = "-1"
    OWN = "0"
    """Only if the thread was the page's latest owner."""
    ANY = "1"
    """If the thread was the page's latest owner, or if more than a quarter of the page is free."""


@dataclass(frozen=True)
class Mimalloc(HeapFamily):
    """Pages for blocks of one size, whose free blocks are reused in the order of their frees."""

    family: ClassVar[str] = "mimalloc"
    reference: ClassVar[str] = "mimalloc.mimalloc:heap_of_version"
    columns: ClassVar[tuple[str, ...]] = ("alignment", "thread", "time")
    writes_itself: ClassVar[bool] = True

    version: Annotated[MimallocVersion, "Release whose rules apply."] = MimallocVersion.V3_6_0
    tick: Annotated[
        int,
        Duration(0, 10**9, unit="ns"),
        "Nanoseconds by which the clock advances per call; 0: the clock uses the times of "
        "the trace.",
    ] = 0

    base: Annotated[
        int,
        Range(0, 1 << 46, 256 * _MIB),
        "Address of the first arena in the real process, on which offsets in pages depend.",
    ] = 3 << 40
    hint_delta: Annotated[
        int,
        Range(0, 255 * _MIB),
        "Bytes by which the first address hint to the system is below `base`. The hint affects the "
        "addresses of later mappings.",
    ] = 128 * _MIB
    purge_delay: Annotated[
        Milliseconds,
        "Free slices are purged after this time multiplied by `arena_purge_mult`.",
    ] = 1000
    arena_purge_mult: Annotated[
        int, Count(0, 1 << 20), "Factor by which `purge_delay` is multiplied."
    ] = 4
    purge_decommits: Annotated[
        bool,
        "Purging makes memory non-resident immediately; off: only when the system needs memory.",
    ] = True
    arena_reserve: Annotated[
        int, Range(_CHUNK, 512 * _CHUNK, _CHUNK), "Size of each of the first arenas."
    ] = 1024 * _MIB
    arena_eager_commit: Annotated[bool, "Commit arenas, with huge pages, from the start."] = True
    arena_purge_min_size: Annotated[
        int,
        Range(0, _CHUNK, _SLICE),
        "Unit of purging; 0: a huge page if `allow_thp` is 2, else a slice.",
    ] = 0
    arena_purge_immediate_size: Annotated[
        Amount, "Pages of at least this size are purged when they are freed."
    ] = 32 * _MIB
    allow_thp: Annotated[
        int,
        Count(0, 2),
        "0: no huge pages; 1: arenas request huge pages; 2: arenas also purge in units of "
        "huge pages.",
    ] = 2
    page_reclaim_on_free: Annotated[
        ReclaimOnFree,
        "A thread that frees a block in an abandoned page becomes the page's owner. -1: never; "
        "0: only if it was the page's latest owner; 1: also if more than a quarter of the page is "
        "free.",
    ] = ReclaimOnFree.ANY
    page_full_retain: Annotated[
        Number,
        "Number of full pages with blocks of up to 10 KiB that a search leaves to their owner.",
    ] = 2
    page_max_candidates: Annotated[
        Number,
        "Number of further pages that a search examines after the first page with a free block.",
    ] = 4
    page_max_reclaim: Annotated[
        Number,
        "A thread reclaims a page that it owned last if it has at most this many pages for the "
        "page's block size.",
    ] = 1 << 40
    page_cross_thread_max_reclaim: Annotated[
        Number,
        "A thread reclaims a page of another thread if it has at most this many pages for the "
        "page's block size.",
    ] = 32
    generic_collect: Annotated[
        Number,
        "Number of generic requests, outside the fast path, after which a thread collects "
        "and purges.",
    ] = 10000
    disallow_arena_alloc: Annotated[bool, "Map each page separately instead of in an arena."] = (
        False
    )

    decommit_delay: Annotated[
        Milliseconds, "2.0.9: time after which free slices are decommitted."
    ] = 25
    decommit_extend_delay: Annotated[
        Milliseconds, "2.0.9: time that each further free span adds to `decommit_delay`."
    ] = 1
    segment_decommit_delay: Annotated[
        Milliseconds, "2.0.9: time after which a segment without pages may be decommitted."
    ] = 500
    allow_decommit: Annotated[bool, "2.0.9: decommit free memory."] = True
    eager_commit: Annotated[bool, "2.0.9: commit new segments from the start."] = True
    eager_commit_delay: Annotated[
        Number,
        "2.0.9: if there are several threads, each thread's first segments, up to this number, "
        "are not committed from the start.",
    ] = 1
    page_reset: Annotated[
        bool,
        "2.0.9: offer the pages of freed spans to the system (MADV_FREE). The model keeps "
        "these pages resident.",
    ] = False
    reserve_os_memory: Annotated[
        int,
        Range(0, 64 * _CHUNK, _CHUNK),
        "2.0.9: bytes that are mapped and committed at the start. Segments use these bytes first.",
    ] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        foreign = _OF_3 if self.version is MimallocVersion.V2_0_9 else _OF_2
        for part in fields(self):
            if part.name in foreign and getattr(self, part.name) != part.default:
                version = self.version.value
                raise PolicyError(f"mimalloc {version} has no option {part.name}")

    @property
    def core(self) -> str:
        """Name of the core's implementation; the releases share little but block sizes."""
        return f"mimalloc {self.version.value[0]}"

    @property
    def library_bytes(self) -> int:
        """Data of Debian's libmimalloc.so."""
        data = 28 << 10 if self.version is MimallocVersion.V2_0_9 else 64 << 10
        return data if self.mechanism else 0

    @property
    def overhead(self) -> Overhead:
        """No overhead: a block's page is found by the block's address."""
        return Overhead()

    @property
    def purge_unit(self) -> int:
        """Bytes that 3.6.0 purges together, if all of them are scheduled."""
        return self.arena_purge_min_size or (_HUGE_PAGE if self.allow_thp == 2 else _SLICE)

    def core_parameters(self) -> dict[str, int | str]:
        """Return the parameters of the release's core."""
        given = super().core_parameters() | {"purge_unit": self.purge_unit}
        is_old = self.version is MimallocVersion.V2_0_9
        foreign = _OF_3 | {"purge_unit"} if is_old else _OF_2 | {"arena_purge_min_size"}
        return {name: given[name] for name in given.keys() - foreign - {"version", "page_reset"}}
