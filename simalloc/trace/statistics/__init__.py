"""Statistics of traces; `describe` gives them all."""

from simalloc.trace.statistics.behaviour import NeverFreed, Reallocs, Thread
from simalloc.trace.statistics.describe import Counts, Statistics, describe
from simalloc.trace.statistics.lifetimes import (
    SHARES,
    Lifetimes,
    Neighbours,
    neighbour_waits,
    neighbours_of,
)
from simalloc.trace.statistics.liveness import LiveCurve, Peak, live_bytes, most_together
from simalloc.trace.statistics.lives import Counting, Lives, lives_of
from simalloc.trace.statistics.sizes import COVERAGE, SizeClass, Sizes, classes_of

__all__ = [
    "COVERAGE",
    "SHARES",
    "Counting",
    "Counts",
    "Lifetimes",
    "LiveCurve",
    "Lives",
    "Neighbours",
    "NeverFreed",
    "Peak",
    "Reallocs",
    "SizeClass",
    "Sizes",
    "Statistics",
    "Thread",
    "classes_of",
    "describe",
    "live_bytes",
    "lives_of",
    "most_together",
    "neighbour_waits",
    "neighbours_of",
]
