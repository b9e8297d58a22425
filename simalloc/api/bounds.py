"""The best possible placement of a trace."""

from __future__ import annotations

from pathlib import Path

from simalloc.api.traces import Source
from simalloc.bound import Effort, Placement, Timetable, load_timetable
from simalloc.bound import best_possible as best_possible_of
from simalloc.progress import progress as any_progress
from simalloc.trace import Trace, TraceFile


def best_possible(
    trace: Source,
    *,
    effort: float | None = None,
    capacity: int | None = None,
    progress: bool | None = None,
) -> Placement:
    """Return the lowest placement that is found if the whole trace is known beforehand.

    Parameters
    ----------
    trace
        A trace, the path of one, or the name of a shipped one. A table of buffers in MiniMalloc's
        format may have gaps.
    effort
        Seconds after which the search ends. By default an exact search (few objects) ends after 10
        seconds, and a fixed list of fast tries is gone through for more objects.
    capacity
        Bytes. The search ends as soon as a placement fits into this, or none can.
    progress
        Show a bar; None: in notebooks only.

    Returns
    -------
    Placement
        `height` (bytes) is the heap that it needs, `lower_bound` (bytes) is proven to be necessary,
        and `status` is "optimal" if they are equal. `address` says where everything is, and
        `fits(capacity)` whether it fits. Interrupt the kernel, or press Ctrl-C, to end the search
        with the best so far. The policy `best-possible` returns such a placement as a run.
    """
    if isinstance(trace, Trace | TraceFile):
        read = trace.in_memory()
        name, table = read.name, Timetable.of(read, aligned=True)
    else:
        with any_progress(Path(trace).name, 1.0, shown=progress) as bar:
            name, table = load_timetable(trace, progress=bar)
    limit = None if effort is None else Effort(seconds=effort)
    with any_progress(name, 1.0, shown=progress) as bar:
        return best_possible_of(table, bar, effort=limit, capacity=capacity)
