"""Statistics of traces; `describe` gives them all."""

from simalloc.trace.lives import Counting, Lives, lives_of
from simalloc.trace.statistics.behaviour import NeverFreed, Reallocs
from simalloc.trace.statistics.describe import Counts, Statistics, describe
from simalloc.trace.statistics.life_reader import Ended, LifeEvents, LifeReader
from simalloc.trace.statistics.lifetimes import (
    Lifetimes,
    Neighbours,
    neighbour_waits,
    neighbours_of,
)
from simalloc.trace.statistics.liveness import LiveCurve, Peak, most_together
from simalloc.trace.statistics.quantiles import SHARES, Quantiles
from simalloc.trace.statistics.sizes import COVERAGE, SizeClass, Sizes
from simalloc.trace.statistics.spread import Spread, Steps, spread_of
from simalloc.trace.statistics.threads import Thread, threads_at_once

__all__ = [
    "COVERAGE",
    "SHARES",
    "Counting",
    "Counts",
    "Ended",
    "LifeEvents",
    "LifeReader",
    "Lifetimes",
    "LiveCurve",
    "Lives",
    "Neighbours",
    "NeverFreed",
    "Peak",
    "Quantiles",
    "Reallocs",
    "SizeClass",
    "Sizes",
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
