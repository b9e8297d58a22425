"""Generated traces with the statistics of the paper's table 2, unsuitable as a policy test.

Johnstone & Wilson warn of random traces. These traces have exactly the published numbers of
allocations and deallocations, and nearly the published average request and average live memory. The
table does not determine the remaining properties, which are free choices. Sizes are multiples of 8
from 16 bytes on, geometrically distributed. A collector frees a constant number of objects whenever
the number of live objects reaches a threshold that yields the average. An object allocated since
the last collection is four times as likely to die as an older object. Objects that die together are
freed in random order, or with `sweep` in the order of their allocation. The last event is the last
free; objects live at that time are never freed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from experiments.rezaei.published import Program
from simalloc.trace import Trace
from simalloc.trace.workloads import trace_of_lives

_STEP: Final = 8
_SMALLEST: Final = 16
_MEGABYTE: Final = 1 << 20
_YOUNG: Final = 4


def generate(program: Program, seed: int, *, sweep: bool = False) -> Trace:
    """Return a trace with the statistics of one of the paper's programs."""
    random = np.random.default_rng(seed)
    steps = (program.average_request - _SMALLEST) / _STEP
    sizes = _SMALLEST + _STEP * (random.geometric(1 / (steps + 1), program.allocations) - 1)
    until = _deaths(program, random)
    return trace_of_lives(
        sizes,
        until,
        order=None if sweep else random.permutation(program.allocations),
        name=f"{program.name} (generated)",
        provenance={"kind": "synthetic", "source": "Rezaei & Kavi 2016, table 2", "seed": seed},
    )


def _deaths(program: Program, random: np.random.Generator) -> NDArray[np.int64]:
    """Return the allocation at which each object is freed, or one after the last if never freed."""
    survivors = program.allocations - program.deallocations
    average = program.average_live * _MEGABYTE / program.average_request
    collections = max(round(program.deallocations / (2 * (average - survivors))), 1)
    shares = np.diff(np.linspace(0, program.deallocations, collections + 1).astype(int))
    until = np.full(program.allocations, program.allocations + 1)
    live = np.empty(0, np.int64)
    allocated = 0
    for dying in shares:
        young = np.arange(allocated, survivors + dying + allocated - len(live))
        allocated += len(young)
        weights = np.concatenate([np.ones(len(live)), np.full(len(young), _YOUNG)])
        live = np.concatenate([live, young])
        # Sample without replacement: the smallest of exponential variates with these rates.
        gone = np.argsort(random.exponential(1 / weights))[:dying]
        until[live[gone]] = allocated
        live = np.delete(live, gone)
    return until
