"""The best possible placement of a trace."""

from __future__ import annotations

from simalloc.api.traces import Source, read_trace
from simalloc.bound import Placement
from simalloc.bound import best_possible as best_possible_of
from simalloc.progress import progress as any_progress


def best_possible(trace: Source, *, progress: bool | None = None) -> Placement:
    """Return the lowest placement that is found if the whole trace is known beforehand.

    `height` is what it needs, `bound` the peak of live bytes, below which there is none, and
    `is_bound` whether they are the same; `address` says where everything is. Interrupt the kernel,
    or press Ctrl-C, to end the search with the best so far. The policy `best-possible` gives the
    same as a run, beside those of others. `progress` shows a bar; None: in notebooks only.
    """
    placed = read_trace(trace, progress=progress)
    with any_progress(placed.name, 1.0, shown=progress) as bar:
        return best_possible_of(placed, bar)
