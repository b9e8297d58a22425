"""The parts of a recording that are requested."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEPTH: Final = 32
"""Default number of return addresses of a call path."""

MAX_DEPTH: Final = 256


@dataclass(frozen=True)
class Wanted:
    """Requested parts of a recording besides events, sizes, alignments and threads.

    `depth` is the maximum number of return addresses of a call site: 0 records no sites, 1 only the
    caller. `every` records a sample: the blocks that contain a drawn byte, where on average one
    byte in `every` is drawn. 0 records all blocks. With `python`, Python allocates its objects with
    malloc, and call paths contain Python functions.
    """

    times: bool = False
    depth: int = 0
    every: int = 0
    python: bool = False

    def environment(self) -> Mapping[str, str]:
        """Return the environment for the recorder's library and, if requested, for Python."""
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
            "SIMALLOC_RECORD_PYTHON": "1" if self.python else "",
        }


EVENTS: Final = Wanted()
"""Events without optional parts."""
