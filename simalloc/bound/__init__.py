"""Bounds of heap sizes: offline placements of a trace, and proven worst cases of policies."""

from simalloc.bound.exact import Effort
from simalloc.bound.loading import load_timetable
from simalloc.bound.placement import Placement
from simalloc.bound.placement_file import write_placement
from simalloc.bound.proven import best_fit_bound, buddy_bound, first_fit_bound, robson_bound
from simalloc.bound.search import best_possible
from simalloc.bound.timetable import Timetable
from simalloc.bound.verify import verify

__all__ = [
    "Effort",
    "Placement",
    "Timetable",
    "best_fit_bound",
    "best_possible",
    "buddy_bound",
    "first_fit_bound",
    "load_timetable",
    "robson_bound",
    "verify",
    "write_placement",
]
