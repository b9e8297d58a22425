"""glibc's malloc, in several versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, ClassVar, Final

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Aligning, Auto, Count, CountOrAuto, Overhead, Range, RangeOrAuto

HEAP: Final = 64 << 20
"""Address space of one heap of an arena; glibc's HEAP_MAX_SIZE."""

_DEFAULT_AMOUNT: Final = 128 * 1024
"""Initial bytes of top_pad, trim_threshold and mmap_threshold."""

_DEFAULT_MMAP_MAX: Final = 65536

Tunable = Annotated[int | Auto, RangeOrAuto(0, 1 << 40)]
"""A tunable that may be left to glibc."""


class GlibcVersion(Enum):
    """A release of glibc. Releases between two of these differ little from both."""

    GLIBC_2_36 = "2.36"
    GLIBC_2_41 = "2.41"
    GLIBC_2_43 = "2.43"
    GLIBC_2_44 = "2.44"

    @property
    def number(self) -> tuple[int, ...]:
        """Version as a tuple for comparison: 2.41 is (2, 41)."""
        return tuple(map(int, self.value.split(".")))


class ThreadBlocks(Enum):
    """Presence of the blocks that the creation of threads allocates before the first event."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


@dataclass(frozen=True)
class Ptmalloc(HeapFamily):
    """Arenas of bins and a top, below a cache for each thread."""

    family: ClassVar[str] = "ptmalloc"
    reference: ClassVar[str] = "ptmalloc.ptmalloc:PtmallocHeap"
    columns: ClassVar[tuple[str, ...]] = ("alignment", "thread")
    writes_itself: ClassVar[bool] = True

    version: Annotated[GlibcVersion, "Release of glibc."] = GlibcVersion.GLIBC_2_44
    arena_max: Annotated[
        int,
        Count(0, 1 << 16),
        "Maximum number of arenas, including the main arena; 0: determined by `arena_test` "
        "and `cores`.",
    ] = 0
    arena_test: Annotated[
        int,
        Count(1, 1 << 16),
        "Number of arenas that are created regardless of the number of cores.",
    ] = 8
    cores: Annotated[int, Count(1, 1 << 13), "Number of processors that are online."] = 8
    tcache_count: Annotated[
        int | Auto,
        CountOrAuto(0, 65535),
        "Maximum number of blocks in each list of a thread cache; auto: 7, or 16 from "
        "version 2.43 on.",
    ] = Auto.AUTO
    tcache_max: Annotated[
        int | Auto,
        RangeOrAuto(0, 4194280),
        "Maximum size of a request that a thread cache serves; auto: 1032, which is the "
        "maximum before 2.43.",
    ] = Auto.AUTO
    mxfast: Annotated[
        int | Auto,
        RangeOrAuto(0, 160),
        "Maximum size of a request whose block is kept in a fast list; auto: 16 words. From "
        "2.43 on, there are no fast lists.",
    ] = Auto.AUTO
    top_pad: Annotated[
        Tunable,
        "Bytes that a growth of the main arena adds to the request, and that trimming keeps; "
        "auto: 128K.",
    ] = Auto.AUTO
    trim_threshold: Annotated[
        Tunable, "A top of at least this size is trimmed; auto: 128K, rising with `mmap_threshold`."
    ] = Auto.AUTO
    mmap_threshold: Annotated[
        Tunable,
        "Requests of at least this size are mapped; auto: 128K, rising when a mapped block "
        "is freed.",
    ] = Auto.AUTO
    mmap_max: Annotated[
        int | Auto,
        CountOrAuto(0, 1 << 40),
        "Maximum number of simultaneously mapped blocks; auto: 65536.",
    ] = Auto.AUTO
    thread_blocks: Annotated[
        ThreadBlocks,
        "Begin with one block for each other thread, which the main thread allocates when it "
        "creates the thread; auto: on with `mechanism=on`, unless the recorder of the trace has "
        "recorded these blocks.",
    ] = ThreadBlocks.AUTO
    growth: Annotated[
        int, Range(1, HEAP), "Page size; memory is requested and returned in multiples of it."
    ] = 4096

    @property
    def overhead(self) -> Overhead:
        """Overhead: a word for the size; only free blocks use the word behind them."""
        return Overhead(header=self.word, alignment=16, minimum=4 * self.word)

    @property
    def aligning(self) -> Aligning:
        """Rule for requested alignments: a larger block is taken, and its excess is freed.

        The rule is independent of `memalign`.
        """
        return self.cutting(self.growth)

    @property
    def payload(self) -> int:
        """Two words; the object also uses the first word of the block above."""
        return 2 * self.word if self.mechanism else super().payload

    def allocates_for_threads(self, provenance: Mapping[str, Any]) -> bool:
        """Return whether the main thread allocates a block per other thread before all events."""
        if self.thread_blocks is ThreadBlocks.AUTO:
            return self.mechanism and super().allocates_for_threads(provenance)
        return self.thread_blocks is ThreadBlocks.ON

    @property
    def most_arenas(self) -> int:
        """Maximum number of arenas, with sufficient threads."""
        if self.arena_max:
            return self.arena_max
        if self.since(44):
            return max(self.arena_test, self.cores)
        return max(self.arena_test + 1, 8 * self.cores)

    def core_parameters(self) -> dict[str, int | str]:
        """Return all parameters by the core's names, as plain values."""
        given = super().core_parameters() | self.resolved | {"most_arenas": self.most_arenas}
        del given["thread_blocks"]
        return given

    def spell_location(self, region: int, number: int, offset: float) -> str:
        """Return `ARENA:OFFSET`, `ARENA.HEAP:OFFSET` in a later heap, or `m` if mapped."""
        if region < 0:
            return "m"
        return f"{region}.{number}:{offset}" if number else f"{region}:{offset}"

    def since(self, minor: int) -> bool:
        """Return whether the version is glibc 2.`minor` or later."""
        return self.version.number >= (2, minor)

    @property
    def resolved(self) -> dict[str, int]:
        """Initial values of the tunables that may be left to glibc.

        `adjusts` is 1 if freeing mapped blocks changes the thresholds, which requires that none of
        four tunables is given. `tcache_max` and `mxfast` are block sizes.
        """
        word = self.word
        amounts = ("top_pad", "trim_threshold", "mmap_threshold")
        values = {name: _or(getattr(self, name), _DEFAULT_AMOUNT) for name in amounts}
        values["mmap_max"] = _or(self.mmap_max, _DEFAULT_MMAP_MAX)
        fixed = any(getattr(self, name) is not Auto.AUTO for name in (*amounts, "mmap_max"))
        small = 16 * 63 + 4 * word
        cached = max(4 * word, (_or(self.tcache_max, small - word) + word + 15) // 16 * 16)
        return values | {
            "adjusts": int(not fixed),
            "tcache_count": _or(self.tcache_count, 16 if self.since(43) else 7),
            "tcache_max": cached if self.since(43) else min(cached, small),
            "mxfast": 0 if self.since(43) else (_or(self.mxfast, 16 * word) + word) // 16 * 16,
        }


def _or(value: int | Auto, default: int) -> int:
    """Return a tunable's value, or its default if left to glibc."""
    return default if isinstance(value, Auto) else value
