"""The best possible placement of a trace."""

from __future__ import annotations

from simalloc.api.traces import Source
from simalloc.arguments import checked, number, optional, whole
from simalloc.bound import Effort, Placement, Timetable, load_timetable
from simalloc.bound import best_possible as best_possible_of
from simalloc.progress import progress as any_progress
from simalloc.trace import Trace, TraceFile
from simalloc.trace.catalogue import as_path


@checked(effort=optional(number(0)), capacity=optional(whole()))
def best_possible(
    trace: Source,
    *,
    effort: float | None = None,
    capacity: int | None = None,
    progress: bool | None = None,
) -> Placement:
    """Return the best placement that is found for a trace that is known in advance.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log. A table of buffers in
        MiniMalloc's format may have gaps.
    effort : float, optional
        Seconds after which the search ends. By default, the search ends after 10
        seconds for up to 5,000 objects. For more objects, a fixed list of fast heuristics replaces
        the search.
    capacity : int, optional
        Capacity in bytes. The search ends as soon as a placement fits into the capacity, or it is
        proven that no placement fits. By default the search minimises the height.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    Placement
        `height` is the size of the heap in bytes, and `lower_bound` a proven minimum in bytes.
        `status` is "optimal" if the two are equal. Ctrl-C, or an interrupt of the kernel, ends the
        search with the best placement so far. The policy `best-possible` returns such a placement
        as a run.

    Raises
    ------
    TraceError
        If the trace does not exist or is invalid.
    SimallocError
        If the objects need more memory than is permitted.

    Examples
    --------
    >>> placement = simalloc.best_possible("espresso")
    >>> placement.height, placement.lower_bound, placement.status
    """
    if isinstance(trace, Trace | TraceFile):
        read = trace.in_memory()
        name, table = read.name, Timetable.of(read, aligned=True)
    else:
        with any_progress(as_path(trace).name, 1.0, shown=progress) as bar:
            name, table = load_timetable(trace, progress=bar)
    limit = None if effort is None else Effort(seconds=effort)
    with any_progress(name, 1.0, shown=progress) as bar:
        return best_possible_of(table, bar, effort=limit, capacity=capacity)
