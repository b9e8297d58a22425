"""Generates traces with a constant number of live objects or free blocks, from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from simalloc.trace import Op, Trace

Kind = Literal["live", "free"]
"""The number that is constant: live objects or free blocks."""

SEED: Final = 1998
MEAN_SIZE: Final = 48


@dataclass(frozen=True)
class Steady:
    """A trace whose events from `ramp` on are the steady state.

    In the steady state, a random object is freed and then a new object is allocated.
    """

    trace: Trace
    ramp: int


def steady(kind: Kind, size: int, turns: int) -> Steady:
    """Return a trace that keeps `size` objects or free blocks for `turns` frees and mallocs."""
    return (steady_live if kind == "live" else steady_free)(size, turns)


def steady_live(live: int, turns: int) -> Steady:
    """Return a trace with `live` objects: each freed object is replaced by an object of its size.

    A new object reuses the block that was just freed, so hardly any other block is free. The cost
    therefore comes from objects that are far apart in memory.
    """
    random = np.random.default_rng(SEED)
    size = sizes(random, live)
    place = random.integers(0, live, turns)
    return _steady(
        f"{live} live",
        [(Op.MALLOC, np.arange(live), size)],
        place,
        size[place],
    )


def steady_free(free: int, turns: int) -> Steady:
    """Return a trace with about `free` free blocks of many sizes between permanent objects.

    Every second object is permanent. A random half of the other objects is freed. In the steady
    state, a random remaining object is replaced by an object of another size. The number of free
    blocks depends on the policy.
    """
    random = np.random.default_rng(SEED)
    movers = 2 * free
    emptied = random.permutation(movers)[:free]
    filled = np.setdiff1d(np.arange(movers), emptied)
    return _steady(
        f"{free} free",
        [
            (Op.MALLOC, np.arange(2 * movers), sizes(random, 2 * movers)),
            (Op.FREE, 2 * emptied, np.zeros(free, np.int64)),
        ],
        2 * filled[random.integers(0, len(filled), turns)],
        sizes(random, turns),
    )


def sizes(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Draw sizes from a geometric distribution: many small ones, some large."""
    return random.geometric(1 / MEAN_SIZE, count).astype(np.int64)


def _steady(
    name: str,
    ramp: list[tuple[Op, NDArray[np.int64], NDArray[np.int64]]],
    place: NDArray[np.int64],
    size: NDArray[np.int64],
) -> Steady:
    """Append the steady state: the object at each place is replaced by one of the given size."""
    op = [np.full(len(key), kind) for kind, key, _ in ramp]
    op.append(np.tile([Op.FREE, Op.MALLOC], len(place)))
    key = [*(part for _, part, _ in ramp), np.repeat(place, 2)]
    every_size = [*(part for _, _, part in ramp), np.stack([np.zeros_like(size), size], 1).ravel()]
    trace = Trace.from_events(
        np.concatenate(op).astype(np.uint8),
        np.concatenate(key),
        np.concatenate(every_size),
        name=name,
    )
    return Steady(trace, sum(len(part) for _, part, _ in ramp))
