"""Scudo, the hardened allocator of LLVM and Android."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar, Final

from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import MAX_UNIT, Amount, Count, Duration, Number, Overhead, Range

_FIRST_SLOT: Final = 7
"""Number of figures in front of the slots' figures."""


class Config(Enum):
    """A build of Scudo."""

    DEFAULT = "default"
    """LLVM's library."""
    ANDROID = "android"
    """Android's C library: other classes, shared caches, a release every second."""


class Purge(Enum):
    """Call that an event `e` (release cached memory) represents."""

    PURGE = "purge"
    """mallopt's M_PURGE: releases without waiting."""
    ALL = "all"
    """mallopt's M_PURGE_ALL: empties the local caches first, and releases every free page."""


@dataclass(frozen=True)
class Scudo(HeapFamily):
    """Small blocks in random order, below local caches; freed mappings are cached."""

    family: ClassVar[str] = "scudo"
    reference: ClassVar[str] = "scudo.scudo:ScudoHeap"
    columns: ClassVar[tuple[str, ...]] = ("alignment", "thread", "time")
    writes_itself: ClassVar[bool] = True

    config: Annotated[Config, "Configuration of Scudo."] = Config.DEFAULT
    seed: Annotated[
        int,
        Count(0, (1 << 32) - 1),
        "Seed of all random numbers. A real process draws it at its start.",
    ] = 1
    release_to_os_interval_ms: Annotated[
        int,
        Duration(-1, 1 << 31, unit="ms"),
        "Minimum time between two releases of free pages to the system; 0: no minimum; -1: "
        "pages are never released.",
    ] = 5000
    cache_count_max: Annotated[
        int, Count(0, 256), "Maximum number of freed mappings that are cached."
    ] = 32
    cache_size_max: Annotated[
        int,
        Range(-1, 1 << 50),
        "Maximum size of a cached mapping; -1: 512 KiB, or 2 MiB under Android.",
    ] = -1
    tsds_count_max: Annotated[
        int, Count(1, 8), "Number of local caches that the threads share under Android."
    ] = 2
    quarantine_size_kb: Annotated[
        Number, "Maximum KiB of freed memory in the global quarantine."
    ] = 0
    thread_local_quarantine_size_kb: Annotated[
        Number, "Maximum KiB of freed memory in the quarantine of a local cache; 0: no quarantine."
    ] = 0
    quarantine_max_chunk_size: Annotated[
        Amount, "Maximum requested size of a block that enters the quarantine."
    ] = 0
    purge: Annotated[
        Purge, "Call that an event `e` of the trace represents: M_PURGE, or M_PURGE_ALL for `all`."
    ] = Purge.PURGE
    tick: Annotated[
        int,
        Duration(0, MAX_UNIT, unit="ns"),
        "Nanoseconds added to the clock per event, in addition to the trace's times.",
    ] = 0

    @property
    def overhead(self) -> Overhead:
        """No overhead: the family adds its headers itself."""
        return Overhead()

    @property
    def payload(self) -> int:
        """Bytes of the header in front of the program's bytes: 16 with mechanism."""
        return 16 if self.mechanism else 0

    @property
    def primary_interval(self) -> int:
        """Milliseconds between two releases of a class of small blocks, or -1 for never."""
        return 1000 if self._is_android else self.release_to_os_interval_ms

    @property
    def secondary_interval(self) -> int:
        """Milliseconds for which a cached mapping keeps its pages, or -1 for ever."""
        interval = self.release_to_os_interval_ms
        return min(max(interval, 0), 1000) if self._is_android else interval

    @property
    def largest_cached(self) -> int:
        """Maximum accessible bytes of a cached mapping."""
        if self.cache_size_max >= 0:
            return self.cache_size_max
        return 2 << 20 if self._is_android else 512 << 10

    @property
    def caches(self) -> int:
        """Number of local caches that the threads share, or 0 if each thread has one."""
        return self.tsds_count_max if self._is_android else 0

    @property
    def _is_android(self) -> bool:
        return self.config is Config.ANDROID

    def core_parameters(self) -> dict[str, int | str]:
        """Return the parameters in the core's form: an interval plus 1, or 0 for none."""
        given = super().core_parameters()
        for name in ("release_to_os_interval_ms", "cache_size_max", "tsds_count_max"):
            del given[name]
        return given | {
            "primary_interval": self.primary_interval + 1,
            "secondary_interval": self.secondary_interval + 1,
            "largest_cached": self.largest_cached,
            "caches": self.caches,
        }

    def figure_columns(self, names: Sequence[str]) -> Sequence[str]:
        """Return the columns; `classes` stands for all slots."""
        return [*names[:_FIRST_SLOT], "classes"]

    def spell_figures(
        self, figures: Mapping[str, int], location: tuple[int, int, float] | None
    ) -> Sequence[object]:
        """Return the figures; each slot is shown as class number, KiB mapped and pages resident."""
        del location
        values = list(figures.values())
        classes = [
            f"{packed >> 42}:{(packed >> 21) % (1 << 21) * 4}:{packed % (1 << 21)}"
            for packed in values[_FIRST_SLOT:]
            if packed
        ]
        return [*values[:_FIRST_SLOT], " ".join(classes)]

    def spell_location(self, region: int, number: int, offset: float) -> str:
        """Return the location of a block: in a class's region, or in a mapping."""
        return f"{'s' if region else 'c'}{number}:{offset}"
