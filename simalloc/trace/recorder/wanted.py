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
    """

    times: bool = False
    depth: int = 0

    def environment(self) -> Mapping[str, str]:
        """Return what tells the recorder's library."""
        return {
            "SIMALLOC_RECORD_COLUMNS": "time" if self.times else "",
            "SIMALLOC_RECORD_DEPTH": str(self.depth),
        }


EVENTS: Final = Wanted()
"""Nothing else."""
