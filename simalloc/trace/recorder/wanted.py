"""What is to be recorded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEPTH: Final = 32
"""Return addresses of a call path that are recorded unless another number is asked for."""

MOST_DEPTH: Final = 256


@dataclass(frozen=True)
class Wanted:
    """What is recorded beside events, sizes, alignments and threads.

    `depth` is the most return addresses of a call site: 0 records no sites, 1 the caller alone.
    `every` records a sample alone: the blocks that hold one of the bytes that are drawn, on average
    one in `every`; 0 records all. `python` has Python serve its objects from malloc, and its own
    functions stand in call paths.
    """

    times: bool = False
    depth: int = 0
    every: int = 0
    python: bool = False

    def environment(self) -> Mapping[str, str]:
        """Return what tells the recorder's library, and Python if it is to be told."""
        own = str(Path(__file__).with_name("in_python"))
        paths = [own, *filter(None, [os.environ.get("PYTHONPATH")])]
        python = {"PYTHONMALLOC": "malloc"}
        if self.depth:
            python["PYTHONPATH"] = os.pathsep.join(paths)
        return {
            **(python if self.python else {}),
            "SIMALLOC_RECORD_COLUMNS": "time" if self.times else "",
            "SIMALLOC_RECORD_DEPTH": str(self.depth),
            "SIMALLOC_RECORD_EVERY": str(self.every),
        }


EVENTS: Final = Wanted()
"""Nothing else."""
