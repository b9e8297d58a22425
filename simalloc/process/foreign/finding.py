"""Search for heaps of other allocators in a process."""

from __future__ import annotations

from simalloc.process.foreign.foreign import Foreign
from simalloc.process.foreign.jemalloc import find_jemalloc
from simalloc.process.foreign.mimalloc import find_mimalloc
from simalloc.process.foreign.pymalloc import find_pymalloc
from simalloc.process.foreign.tcmalloc import find_tcmalloc
from simalloc.process.glibc.capture import Capture
from simalloc.process.glibc.state import data_areas
from simalloc.process.target import Target


def find_foreign(target: Target, found: Capture) -> list[Foreign]:
    """Return the heaps of jemalloc, tcmalloc, mimalloc and Python in a process.

    The heaps are read while the process runs, so their figures are from different moments.
    """
    runs = target.busy_runs()
    areas = data_areas(found.mappings)
    data = [(file, target.region(start, end)) for file, start, end in areas]
    return [
        *find_jemalloc(target, data, runs),
        *find_tcmalloc(target, data, runs),
        *find_mimalloc(target, runs),
        *find_pymalloc(target, found),
    ]
