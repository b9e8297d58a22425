"""ThreadX's byte pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simalloc.policy.pool.base import Pool, Word, round_up


@dataclass(frozen=True, kw_only=True)
class ThreadX(Pool):
    """First fit in address order, merging free neighbours during the search (Eclipse ThreadX)."""

    family: ClassVar[str] = "threadx"

    word: Word = 4
    checked: Annotated[bool, "Verify requests first; off: TX_DISABLE_ERROR_CHECKING."] = True
    perf: Annotated[
        bool, "TX_BYTE_POOL_ENABLE_PERFORMANCE_INFO: keep statistics. Placement does not change."
    ] = False

    @property
    def grain(self) -> int:
        """Sizes are rounded down to words."""
        return self.word

    @property
    def payload(self) -> int:
        """Bytes of the header."""
        return 2 * self.word

    @property
    def min_capacity(self) -> int:
        """TX_BYTE_POOL_MIN."""
        return 100

    def block_bytes(self, size: int) -> int:
        """Return the bytes of the header and of whole words."""
        return self.payload + round_up(size, self.word)

    def _own_parameters(self) -> dict[str, int | str]:
        return {"word": self.word, "checked": self.checked}
