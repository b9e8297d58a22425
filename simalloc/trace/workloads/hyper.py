"""Reconstruction of Hyper, Lindsay's hypercube network simulator (Johnstone and Wilson 1998).

The program is not available. According to the paper, the hypercube is a large array that is live
for the whole run. Each message is a small object that is live until it reaches its destination. All
other properties are inferred from the printed figures (bytes before scaling):

- At most 297 objects are live (table 1). This is the sum of table 2's row: one in class 32, 292 in
  64, two in 2K, one in 512K and one in 2M. Therefore all classes peak together, and the program has
  two arrays.
- Simple segregated storage has 26.0 % with and without 3*2^N. In both, the arrays take blocks of 2M
  and 512K, so they are larger than 1.5M and 384K. Messages take blocks of 64, so they are larger
  than 32 bytes.
- Binary buddy's heap is 4 MiB (99.9 %), which the larger array causes if it is allocated second.
  The 102 % of table 3 are at this event, so both arrays together have 2,071,261 to 2,081,540 bytes.
- The peak of live bytes is between 2,097,861 and 2,097,996 (best fit: 513 * 4096 bytes are 0.16 %
  more, 4098 * 512 are 0.01 % more). Without the small objects, the arrays have about 2,080,000
  bytes.
- Messages have 50.33 bytes on average (table 1) and two sizes. The first size accounts for at least
  90 % and less than 99 % of all objects (table 7). In whole words, these sizes are 52 bytes and,
  for one message in twelve, 32 bytes.
- The average lifetime results in 202 live messages on average, and 292 messages are live at the
  busiest moment. Table 3 differs between the sequential fits, so they had fragmentation at this
  moment. Therefore the busiest moment is within the run.
- For 90, 99 and 99.9 % of the messages, both neighbours are free after 2, 12 and 18 K (table 5).
  Few messages wait, and at most as long as two random lifetimes differ. Therefore messages are sent
  in bursts that travel together. Bursts of 7 on random routes through 9 dimensions, where each hop
  takes a gamma distributed time of shape 2, have these waits.

The following properties are free choices: the purposes of the objects, the exact sizes of the
arrays and of the three small objects, the regular position of the shorter messages, and the three
numbers above. The three numbers were tried until tables 5 and 6 were close. With the growth rule of
our double buddy, its row is 26 %, not 51.2 and 50.0.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from simalloc.trace.statistics import most_together
from simalloc.trace.trace import Trace
from simalloc.trace.workloads.lives import trace_of_lives
from simalloc.trace.workloads.provenance import SEED, reconstructed

_MESSAGES: Final = 108_715
_MAX_MESSAGES: Final = 292
_MESSAGE_BYTES: Final = 52
_SHORT_MESSAGE_BYTES: Final = 32
_SHORT_EVERY: Final = 12
_AVERAGE_LIFETIME: Final = 10_531

_DIMENSION: Final = 9
_BURST: Final = 7
_HOP_SHAPE: Final = 2

_NODES: Final = 1 << _DIMENSION
_FIXED: Final = (_NODES * 800, _NODES * 3264, 20, 1220, 1220)
"""Objects that are live for the whole run: the cube's two arrays, and tables for statistics."""


def hyper(seed: int = SEED) -> Trace:
    """Return a reconstruction of Hyper's trace. The seed determines the messages' travel times."""
    size = np.full(len(_FIXED) + _MESSAGES, _MESSAGE_BYTES)
    size[len(_FIXED) :: _SHORT_EVERY] = _SHORT_MESSAGE_BYTES
    size[: len(_FIXED)] = _FIXED
    return trace_of_lives(
        size,
        _arrivals_with_average(size, _travel_times(np.random.default_rng(seed))),
        name="hyper (reconstructed)",
        provenance=reconstructed(
            "Hyper (simulates messages in a hypercube)",
            "unknown",
            seed,
            departures="Routes and travel times are random.",
        ),
    )


def _travel_times(generator: np.random.Generator) -> NDArray[np.float64]:
    """Return the travel time of each message, in an unknown unit.

    A burst crosses each dimension in which its destination differs from its source. Each crossing
    takes a gamma distributed time, computed as a sum of exponential times.
    """
    bursts = -(-_MESSAGES // _BURST)
    differs = generator.random((bursts, _DIMENSION)) < 0.5
    differs[~differs.any(axis=1), 0] = True
    hop = -np.log1p(-generator.random((bursts, _DIMENSION, _HOP_SHAPE))).sum(axis=2)
    return np.repeat((hop * differs).sum(axis=1), _BURST)[:_MESSAGES]


def _arrivals_with_average(
    size: NDArray[np.int64], travel: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the event of each free. Travel times are scaled to the printed mean lifetime."""
    objects, fixed = len(size), len(_FIXED)
    allocated = np.append(0, np.cumsum(size))
    until = np.full(objects, objects)
    scale = _AVERAGE_LIFETIME / (size[fixed:].mean() * travel.mean())
    while True:
        arrival = np.arange(1, _MESSAGES + 1) + np.rint(scale * travel).astype(np.int64)
        until[fixed:] = _crowded(np.minimum(arrival, _MESSAGES)) + fixed
        lifetime = float((allocated[until] - allocated[:-1]).mean())
        if abs(lifetime - _AVERAGE_LIFETIME) < 0.25:
            return until
        scale *= _AVERAGE_LIFETIME / lifetime


def _crowded(arrival: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return arrivals, moved until the busiest moment has the printed number of messages.

    Message i is sent at time i. If the busiest moment has too few messages, the messages that
    arrived last before it are moved to just after it. If it has too many, the messages that arrive
    next are moved to just before it.
    """
    sent = np.arange(_MESSAGES)
    while True:
        busiest = most_together(sent, arrival)
        excess = busiest.amount - _MAX_MESSAGES
        if excess == 0:
            return arrival
        by_arrival = np.argsort(arrival, kind="stable")
        arrived = int(np.searchsorted(arrival[by_arrival], busiest.event, side="right"))
        if excess < 0:
            arrival[by_arrival[arrived + excess : arrived]] = busiest.event + 1
        else:
            coming = by_arrival[arrived:]
            arrival[coming[coming < busiest.event][:excess]] = busiest.event
