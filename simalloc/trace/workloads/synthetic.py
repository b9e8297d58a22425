"""Workloads drawn from distributions of sizes and lifetimes.

Johnstone and Wilson 1998 warn against such workloads. A random trace does not predict the results
of a policy on a real program, even if the trace has the program's statistics. These workloads
reproduce papers that used them, and serve in tests.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from simalloc.trace.trace import Trace
from simalloc.trace.workloads.lives import trace_of_lives

ELLERMANN_OBJECTS: Final = 300_000

ELLERMANN_RATE: Final = ELLERMANN_OBJECTS / 365.57
"""Allocations per second. The paper states only the seconds that glibc took for all objects."""


def uniform(
    seed: int,
    *,
    objects: int,
    smallest: int,
    largest: int,
    shortest: float,
    longest: float,
    name: str,
    provenance: dict[str, Any] | None = None,
) -> Trace:
    """Return a trace of `objects` objects with uniformly distributed sizes and lifetimes.

    Sizes are `smallest` to `largest` bytes, both included. Lifetimes are between `shortest` and
    `longest` allocated objects, and at least 1. The last objects are live until the end of the
    trace at most.
    """
    generator = np.random.default_rng(seed)
    size = generator.integers(smallest, largest, objects, endpoint=True)
    lifetime = np.maximum(np.rint(generator.uniform(shortest, longest, objects)), 1).astype(
        np.int64
    )
    return trace_of_lives(
        size,
        np.minimum(np.arange(objects) + lifetime, objects),
        name=name,
        provenance={"kind": "synthetic", "seed": seed, **(provenance or {})},
    )


def ellermann(seed: int, *, smallest: int, largest: int) -> Trace:
    """Return the workload of Ellermann 2014 (4.2 and 4.3): objects freed after 1 to 3 seconds."""
    return uniform(
        seed,
        objects=ELLERMANN_OBJECTS,
        smallest=smallest,
        largest=largest,
        shortest=ELLERMANN_RATE,
        longest=3 * ELLERMANN_RATE,
        name=f"ellermann-{smallest}-{largest} (synthetic)",
        provenance={"source": "Ellermann 2014, sections 4.2 and 4.3"},
    )
