"""pymalloc, Python's own allocator of small blocks, over another allocator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Annotated, ClassVar

from simalloc.errors import PolicyError
from simalloc.policy.families.base import HeapFamily
from simalloc.policy.parts import Overhead, Range


class PythonVersion(Enum):
    """The first of the CPython releases with the same rules."""

    V3_8 = "3.8"
    """3.7 and 3.8: small pools and arenas; every entirely free arena is unmapped."""
    V3_9 = "3.9"
    """Same rules as 3.8, but the last arena is kept."""
    V3_11 = "3.11"
    """As 3.9, but pools and arenas are four times as large, and an arena begins at any page."""
    V3_12 = "3.12"
    """Same rules as 3.11."""
    V3_13 = "3.13"
    """Same rules as 3.11, if threads take turns (no free-threaded build)."""


@dataclass(frozen=True)
class Pymalloc(HeapFamily):
    """Pools of blocks of one size in arenas; the allocator below serves more than 512 bytes."""

    family: ClassVar[str] = "pymalloc"
    reference: ClassVar[str] = "pymalloc.pymalloc:PymallocHeap"
    only_scale: ClassVar[int] = 1
    writes_itself: ClassVar[bool] = True

    version: Annotated[PythonVersion, "Release whose rules apply."] = PythonVersion.V3_11
    below: Annotated[str, "Policy that serves the requests that pymalloc does not serve."] = (
        "ptmalloc"
    )
    arena_skew: Annotated[
        int,
        Range(0, 12288, 4096),
        "Bytes by which each arena's start exceeds a multiple of 16 KiB. A value "
        "above 0 wastes one pool per arena.",
    ] = 0
    discard_pools: Annotated[
        bool, "Purge the pages of pools without used blocks, which no CPython does."
    ] = False
    zero_as_one: Annotated[
        bool,
        "Treat requests of 1 byte as requests of 0 bytes, because recordings with "
        "PYTHONMALLOC=malloc contain 1 for 0.",
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.quick or self.cache or self.count_frees:
            raise PolicyError(
                "pymalloc does not support quick, cache and count_frees; leave them out"
            )
        if self.below != type(self).below and self.lower.runner != "online":
            raise PolicyError(f"below is {self.below}; use an online policy")

    @cached_property
    def lower(self) -> HeapFamily:
        """Description of the allocator below, with headers if `mechanism` is set."""
        from simalloc.policy import find_policy  # noqa: PLC0415 - the catalogue has this one, too

        description = find_policy(self.below).description
        if not isinstance(description, HeapFamily) or isinstance(description, Pymalloc):
            raise PolicyError(f"below is {self.below}; use another heap policy")
        return replace(description, mechanism=self.mechanism, word=self.word)

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Columns that the allocator below depends on."""
        return self.lower.columns

    @property
    def core(self) -> str:
        """Name of the core's implementation of the allocator below."""
        return self.lower.core

    @property
    def pool(self) -> int:
        """Bytes of a pool; an arena has 64 times as many."""
        is_old = self.version in {PythonVersion.V3_8, PythonVersion.V3_9}
        return 4096 if is_old else 16384

    @property
    def keeps_last(self) -> bool:
        """True if the last arena is kept when it is entirely free."""
        return self.version is not PythonVersion.V3_8

    @property
    def least(self) -> int:
        """Minimum request that pools serve, in bytes."""
        return 2 if self.zero_as_one else 1

    @property
    def applied_overhead(self) -> Overhead:
        """No overhead: the allocator below adds its overhead to the requests that it gets."""
        return Overhead()

    @property
    def payload(self) -> int:
        """Payload offset of the allocator below, which adds the headers."""
        return self.lower.payload

    @property
    def library_bytes(self) -> int:
        """Data of the library of the allocator below."""
        return self.lower.library_bytes

    @property
    def read_columns(self) -> tuple[str, ...]:
        """Columns that the allocator below depends on, with its parameters."""
        return self.lower.read_columns

    def core_parameters(self) -> dict[str, int | str]:
        """Return the parameters of the allocator below, and pymalloc's own."""
        return self.lower.core_parameters() | {
            "capacity": self.capacity,
            "pymalloc_pool_size": self.pool,
            "pymalloc_keeps_last": self.keeps_last,
            "pymalloc_discard_pools": self.discard_pools,
            "pymalloc_arena_skew": self.arena_skew,
            "pymalloc_least": self.least,
        }

    def spell_location(self, region: int, number: int, offset: float) -> str:
        """Return the arena and the offset in it, or `-` for an object of the allocator below."""
        return f"{number}:{offset}" if region < 0 else "-"
