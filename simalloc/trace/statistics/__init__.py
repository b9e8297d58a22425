"""Statistics of traces. `describe` returns all of them."""

from simalloc.trace.lives import Lives, lives_of
from simalloc.trace.statistics.describe import Statistics, describe
from simalloc.trace.statistics.life_reader import Ended, LifeEvents, LifeReader
from simalloc.trace.statistics.lifetimes import neighbour_waits, neighbours_of
from simalloc.trace.statistics.liveness import Peak, most_together
from simalloc.trace.statistics.object_sizes import COVERAGE, SizeClass
from simalloc.trace.statistics.quantiles import SHARES, Quantiles
from simalloc.trace.statistics.spread import Spread, Steps, spread_of
from simalloc.trace.statistics.threads import Thread, threads_at_once

__all__ = [
    "COVERAGE",
    "SHARES",
    "Ended",
    "LifeEvents",
    "LifeReader",
    "Lives",
    "Peak",
    "Quantiles",
    "SizeClass",
    "Spread",
    "Statistics",
    "Steps",
    "Thread",
    "describe",
    "lives_of",
    "most_together",
    "neighbour_waits",
    "neighbours_of",
    "spread_of",
    "threads_at_once",
]
