"""Heap maps to explore in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from simalloc.api.traces import Source, read_trace
from simalloc.arguments import checked
from simalloc.errors import SimallocError
from simalloc.heap import Realloc, Run, simulate_all
from simalloc.machine import core_count
from simalloc.measure import Atlas, atlas
from simalloc.measure.folded_map import is_mostly_apart
from simalloc.policy import AnyPolicy, expand_policies
from simalloc.progress import progress as any_progress
from simalloc.trace import Trace

if TYPE_CHECKING:
    from simalloc.report.explore.explored import Explored
    from simalloc.report.explore.explorer import Explorer


@checked()
def explore(
    trace: Source,
    policies: AnyPolicy | Sequence[AnyPolicy],
    *,
    scale: int | None = None,
    realloc: Realloc | str = "free-first",
    progress: bool | None = None,
) -> Explorer:
    """Return heap maps to explore in a notebook, side by side and on a common time axis.

    The maps zoom to single blocks. The pointer shows the object, size, age and, if the trace has
    it, the call site of a block. Buttons move to the heap's peak, and from there to each object
    that separates free blocks. Where scripts do not run, as on GitHub, a picture is shown. If most
    of the live bytes are mapped apart from the heap, as under jemalloc, the map omits addresses
    that are never used.

    The kernel computes the views. For each event, it keeps about 29 bytes, and 32 more for each
    policy.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    policies : str, Policy, class or sequence
        One or more policies, as for `simulate_all`.
    scale : int, optional
        Factor from 1 to 4096 for all sizes. By default each policy has its own: 16 or 1.
    realloc : {"free-first", "move", "in-place"}, default "free-first"
        Rule for realloc events.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    Explorer
        A widget, which the notebook displays.

    Raises
    ------
    SimallocError
        If anywidget is not installed (extra `notebook`).
    TraceError, PolicyError
        If the trace or a policy does not exist.

    Examples
    --------
    >>> simalloc.explore("espresso", ["first-fit-ao", "binary-buddy"])
    """
    if find_spec("anywidget") is None:
        raise SimallocError("explore needs anywidget: pip install 'simalloc[notebook]'")
    with ThreadPoolExecutor(core_count()) as others:
        drawing = others.submit(_import_drawing)
        replayed = read_trace(trace, progress=progress)
        described = expand_policies(policies)
        with any_progress(replayed.name, len(replayed) * len(described), shown=progress) as bar:
            runs = simulate_all(
                replayed, described, scale=scale, realloc=realloc, addresses=True, progress=bar
            )
        atlases = list(others.map(partial(_atlas, replayed), runs))
        Explorer, Explored = drawing.result()  # noqa: N806 - classes
    return Explorer([Explored(replayed, one) for one in atlases])


def _atlas(trace: Trace, run: Run) -> Atlas:
    """Return a run's atlas, folded if most of the live bytes are mapped apart from the heap."""
    found = atlas(trace, run)
    return found.folded() if is_mostly_apart(found.apart, run) else found


def _import_drawing() -> tuple[type[Explorer], type[Explored]]:
    """Import and return the classes of the explorer. The import takes a third of a second."""
    from simalloc.report.explore.explored import Explored  # noqa: PLC0415 - see above
    from simalloc.report.explore.explorer import Explorer  # noqa: PLC0415 - see above

    return Explorer, Explored
