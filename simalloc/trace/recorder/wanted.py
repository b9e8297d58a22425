"""What is to be recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

DEPTH: Final = 32
"""Return addresses of a call path that are recorded unless another number is asked for."""

MOST_DEPTH: Final = 256


@dataclass(frozen=True)
class Wanted:
    """What is recorded beside events, sizes, alignments and threads.

    `depth` is the most return addresses of a call site: 0 records no sites, 1 the caller alone.
    `every` records a sample alone: the blocks that hold one of the bytes that are drawn, on average
    one in so many; 0 records all.
    """

    times: bool = False
    depth: int = 0
    every: int = 0

    def environment(self) -> Mapping[str, str]:
        """Return what tells the recorder's library."""
        return {
            "SIMALLOC_RECORD_COLUMNS": "time" if self.times else "",
            "SIMALLOC_RECORD_DEPTH": str(self.depth),
            "SIMALLOC_RECORD_EVERY": str(self.every),
        }


EVENTS: Final = Wanted()
"""Nothing else."""
