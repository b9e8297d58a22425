"""A generator of synthetic traces with independent sizes, lifetimes, phases and threads.

Zorn and Grunwald ("Evaluating models of memory allocation", ACM TOMACS 4(1), 1994) and Johnstone
and Wilson (1998) warn against such traces. A trace with the statistics of a program may fragment a
heap quite differently from the program. docs/workloads.md states the error for each shipped trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simalloc.errors import SimallocError
from simalloc.memory import require_memory
from simalloc.trace.events import MAX_SIZE
from simalloc.trace.trace import Trace
from simalloc.trace.workloads.distributions import (
    LIFETIMES,
    SIZES,
    Floats,
    Lifo,
    read_distribution,
)
from simalloc.trace.workloads.lives import trace_of_lives
from simalloc.trace.workloads.parameters import (
    MAX_OBJECTS,
    check_number,
    read_parameters,
    whole_seed,
)

PHASES: Final = {
    "plateau": (),
    "ramp": ("kept",),
    "sawtooth": ("periods", "kept"),
    "peaks": ("periods", "width", "height"),
}
_BYTES_PER_OBJECT: Final = 200
"""Peak memory of `generate` per object. 165 to 186 bytes were measured for two million objects."""
_PHASE_DEFAULTS: Final = {"periods": 4.0, "kept": 0.05, "width": 0.1, "height": 10.0}


@dataclass(frozen=True)
class Synthetic:
    """The description of a synthetic workload.

    Parameters
    ----------
    objects : int
        Number of allocated objects.
    sizes : str
        Distribution of requested sizes in bytes: `constant`, `uniform`, `lognormal`, `powerlaw` or
        `table` (an empirical histogram from a CSV file or a trace), with parameters:
        `lognormal:median=64,sigma=1.2`.
    lifetimes : str
        Distribution of lifetimes in allocations: `exponential`, `powerlaw`, `fifo`, `lifo`,
        `generational`, `by-size` (from a table with live numbers) or `resampled` (from a trace).
    correlation : float
        Rank correlation of size and lifetime, from -1 to 1 (a Gaussian copula).
    batch : float
        Mean number of temporal neighbours that are freed together, at least 1.
    phases : str
        `plateau`; `ramp:kept=0.05` (a fraction of the objects is never freed);
        `sawtooth:periods=4,kept=0.05` (at the end of each period, all its objects except a fraction
        are freed); `peaks:periods=4,width=0.1,height=10` (in the last tenth of each period,
        lifetimes are ten times as long, up to the end of the period).
    threads : int
        Number of threads; each object is allocated by a random one.
    remote : float
        Fraction of the objects that another thread frees, from 0 to 1.

    """

    objects: int = 100_000
    sizes: str = "lognormal"
    lifetimes: str = "exponential"
    correlation: float = 0.0
    batch: float = 1.0
    phases: str = "plateau"
    threads: int = 1
    remote: float = 0.0

    def __post_init__(self) -> None:
        check_number("objects", self.objects, 1, MAX_OBJECTS, whole=True)
        check_number("correlation", self.correlation, -1, 1)
        check_number("batch", self.batch, 1, MAX_OBJECTS)
        check_number("threads", self.threads, 1, 1 << 16, whole=True)
        check_number("remote", self.remote, 0, 1)
        if self.remote and self.threads == 1:
            raise SimallocError("remote frees need at least two threads")
        read_distribution(self.sizes, SIZES, "sizes")
        read_distribution(self.lifetimes, LIFETIMES, "lifetimes")
        _read_phases(self.phases)


def generate(
    synthetic: Synthetic,
    seed: int = 1,
    name: str = "synthetic",
    *,
    progress: Callable[[float], None] = lambda _: None,
) -> Trace:
    """Return the trace of a description. The same seed results in the same trace.

    `progress` is called with the fraction of the work done since the last call. Raises
    `SimallocError` if the seed is not an integer of at least 0, if memory is insufficient, or if a
    file named in the description cannot be used.
    """
    seed = whole_seed(seed)
    generator = np.random.default_rng(seed)
    count = int(synthetic.objects)
    require_memory(
        _BYTES_PER_OBJECT * count, f"A trace of {count:,} objects", "Generate fewer objects"
    )
    sizes = read_distribution(synthetic.sizes, SIZES, "sizes").draw(count, generator)
    sizes = np.clip(np.rint(sizes), 1, MAX_SIZE)
    progress(0.1)
    law = read_distribution(synthetic.lifetimes, LIFETIMES, "lifetimes")
    lifetimes = np.maximum(law.draw(sizes, generator), 1)
    if synthetic.correlation:
        lifetimes = _correlated(sizes, lifetimes, synthetic.correlation, generator)
    progress(0.2)
    until = _until(np.arange(count) + np.ceil(np.minimum(lifetimes, 2 * count)), count)
    if synthetic.batch > 1:
        until = _batched(until, synthetic.batch, generator)
    until = _phased(until, synthetic.phases, generator)
    progress(0.2)
    owner, freer = _threads(int(synthetic.threads), synthetic.remote, count, generator)
    trace = trace_of_lives(
        sizes,
        until,
        order=-np.arange(count) if isinstance(law, Lifo) else None,
        threads=(owner, freer) if synthetic.threads > 1 else None,
        name=name,
        provenance={"kind": "synthetic", "program": name, "seed": seed, **asdict(synthetic)},
    )
    progress(0.5)
    return trace


def _until(until: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Return the object before which each object is freed, or count + 1 for never."""
    return np.asarray(np.minimum(until, count + 1), np.int64)


def _correlated(
    sizes: Floats, lifetimes: Floats, correlation: float, generator: np.random.Generator
) -> Floats:
    """Return the same lifetimes in an order that correlates their ranks with the sizes' ranks."""
    count = len(sizes)
    score = generator.standard_normal(count)
    score.sort()
    rank = np.empty(count, np.int64)
    rank[np.lexsort((generator.random(count), sizes))] = np.arange(count)
    noise = generator.standard_normal(count)
    mixed = correlation * score[rank] + np.sqrt(1 - correlation**2) * noise
    result = np.empty(count)
    result[np.argsort(mixed, kind="stable")] = np.sort(lifetimes)
    return result


def _batched(
    until: NDArray[np.int64], batch: float, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return ends that are equal within batches of neighbours, of `batch` objects on average.

    A batch ends with the end drawn for its first object, but not before its last object is
    allocated.
    """
    begins = generator.random(len(until)) < 1 / batch
    begins[0] = True
    number = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(until)) - 1
    ends = np.maximum(until[first], last + 1)
    return np.asarray(ends[number])


def _phased(
    until: NDArray[np.int64], phases: str, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the ends of objects after the changes by the program's phases."""
    name, values = _read_phases(phases)
    count = len(until)
    born = np.arange(count)
    if name == "plateau":
        return until
    kept = generator.random(count) < values["kept"]
    if name == "ramp":
        return np.where(kept, count + 1, until)
    period = max(count / values["periods"], 1)
    end = np.ceil((np.floor(born / period) + 1) * period).astype(np.int64)
    if name == "sawtooth":
        # All objects of a period live until its end, when all except a fraction are freed.
        return np.where(kept, count + 1, np.maximum(end, born + 1))
    in_peak = end - born <= values["width"] * period
    longer = born + ((until - born) * values["height"]).astype(np.int64)
    return np.where(in_peak, np.maximum(np.minimum(longer, end), born + 1), until)


def _read_phases(text: object) -> tuple[str, dict[str, float]]:
    name, given = read_parameters(text, PHASES, "phases")
    return name, _PHASE_DEFAULTS | {key: float(value) for key, value in given.items()}


def _threads(
    threads: int, remote: float, count: int, generator: np.random.Generator
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the thread that allocates each object, and the thread that frees it."""
    owner = generator.integers(threads, size=count, dtype=np.uint32)
    if threads == 1:
        return owner, owner
    other = generator.integers(1, threads, size=count, dtype=np.uint32)
    is_remote = generator.random(count) < remote
    return owner, np.where(is_remote, (owner + other) % threads, owner).astype(np.uint32)
