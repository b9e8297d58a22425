"""umm_malloc, of the ESP8266's Arduino core and upstream."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

from simalloc.errors import PolicyError
from simalloc.policy.parts import Range
from simalloc.policy.pool.base import Pool, round_up


class Port(Enum):
    """Variant of umm_malloc."""

    ESP = "esp"
    UPSTREAM = "upstream"


class Fit(Enum):
    """Choice of the free run for a request."""

    BEST = "best"
    FIRST = "first"


class Moves(Enum):
    """First step of realloc."""

    DEFRAG = "defrag"
    MINCOPY = "mincopy"


@dataclass(frozen=True, kw_only=True)
class UmmMalloc(Pool):
    """Best fit in one list in the order of frees (umm_malloc)."""

    family: ClassVar[str] = "umm malloc"

    word: Annotated[
        int, Range(4, 8, 4), "Bytes of a machine word. This allocator does not depend on them."
    ] = 4
    port: Annotated[Port, "Copy of the source: esp (the ESP8266's Arduino core) or upstream."] = (
        Port.ESP
    )
    fit: Annotated[Fit, "Search: UMM_BEST_FIT or UMM_FIRST_FIT."] = Fit.BEST
    realloc: Annotated[
        Moves,
        "Realloc: UMM_REALLOC_DEFRAG or UMM_REALLOC_MINIMIZE_COPY; upstream has only the latter.",
    ] = Moves.DEFRAG
    block: Annotated[
        int, Range(8, 1024, 4), "UMM_BLOCK_BODY_SIZE, in bytes; always 8 with port=esp."
    ] = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.port is Port.ESP and self.block != 8:
            raise PolicyError(f"block is {self.block}; port=esp has blocks of 8 bytes")

    @property
    def grain(self) -> int:
        """Unit of the pool: whole blocks."""
        return self.block

    @property
    def payload(self) -> int:
        """Bytes of two block numbers."""
        return 4

    @property
    def min_capacity(self) -> int:
        """Bytes of three blocks: the allocator's first and last, and one between them."""
        return 3 * self.block

    def block_bytes(self, size: int) -> int:
        """Return the bytes of whole blocks, including the header."""
        return round_up(size + self.payload, self.block)

    def _own_parameters(self) -> dict[str, int | str]:
        defrags = self.port is Port.ESP and self.realloc is Moves.DEFRAG
        return {
            "word": self.word,
            "block": self.block,
            "is_first": int(self.fit is Fit.FIRST),
            "defrags": int(defrags),
        }
