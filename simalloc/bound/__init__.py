"""What is possible: the heap of one who knows the whole trace."""

from simalloc.bound.placement import Placement
from simalloc.bound.search import best_possible
from simalloc.bound.timetable import Timetable
from simalloc.bound.verify import Swept, verify
from simalloc.bound.writing import write_placement

__all__ = ["Placement", "Swept", "Timetable", "best_possible", "verify", "write_placement"]
