"""Function that runs a sweep from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

from simalloc.arguments import FLAG, PATH, TEXT, checked, optional, whole
from simalloc.errors import PlanError
from simalloc.heap import Realloc
from simalloc.heap.quantity import Quantity
from simalloc.policy import CATALOGUE, AnyPolicy, Grid, PolicyFromCode, expand_policies
from simalloc.progress import progress as any_progress
from simalloc.sweep.finding import find_sources
from simalloc.sweep.observer import Observer
from simalloc.sweep.plan import Plan, check_quantities, check_reallocs, check_scales
from simalloc.sweep.progress import SweepProgress
from simalloc.sweep.results import Results
from simalloc.sweep.sweep import carry_out_plan
from simalloc.trace import Trace


@checked(
    timelines=FLAG,
    results=optional(PATH),
    jobs=optional(whole(1)),
    memory=optional(whole(1)),
    dask=optional(TEXT),
)
def run_sweep(
    traces: Iterable[Trace | str | Path] | Trace | str | Path,
    policies: Iterable[AnyPolicy] | AnyPolicy | Mapping[str, Grid] = "all",
    *,
    scales: Iterable[int] | int | None = None,
    reallocs: Iterable[Realloc | str] | Realloc | str | None = None,
    of: Iterable[Quantity] | Quantity = "mapped",
    timelines: bool = False,
    results: str | PathLike[str] | None = None,
    jobs: int | None = None,
    memory: int | None = None,
    dask: str | None = None,
    observer: Observer | None = None,
    progress: bool | None = None,
) -> Results:
    """Replay traces under policies on all cores, and return the runs as rows.

    Every trace is combined with every policy, scale and realloc rule.

    Parameters
    ----------
    traces : Trace, str, path or iterable of these
        Traces, or the paths, patterns or names of traces.
    policies : str, Policy, iterable of these, or mapping, default "all"
        Policies such as `"first-fit-ao:growth=64K"`, `"best-fit-*"` or `"all"`. A mapping gives
        each policy a grid of parameters: `{"first-fit-ao": {"growth": ["4K", "64K"]}}`.
    scales : int or iterable of int, optional
        Factors of all sizes. By default each policy has its own.
    reallocs : str, Realloc or iterable of these, optional
        Realloc rules. By default, `"in-place"` for policies with their mechanism on, and
        `"free-first"` for all others.
    of : {"mapped", "resident", "largest-free"} or iterable of these, default "mapped"
        Quantities to measure. Mapped bytes are always measured.
    timelines : bool, default False
        Keep the timeline of each run for `Results.timeline`; requires `results`.
    results : str or path, optional
        File for the results. Runs that it already contains are not repeated.
    jobs : int, optional
        Number of threads. By default one per core.
    memory : int, optional
        Maximum bytes of traces in memory. By default three quarters of the machine's memory.
    dask : str, optional
        Address of a Dask scheduler. Its workers run the sweep.
    observer : Observer, optional
        Object that receives the progress.
    progress : bool, optional
        Show a progress bar if `observer` is not given. By default only in notebooks.

    Returns
    -------
    Results

    Raises
    ------
    PlanError
        If a trace, a policy, a parameter or a quantity does not exist.

    Examples
    --------
    >>> simalloc.run_sweep("espresso", {"first-fit-ao": {"growth": ["4K", "64K"]}})

    """
    if timelines and results is None:
        raise PlanError("timelines are stored in a file of results; give one")
    described = expand_policies(policies)
    for policy in described:
        if policy.name not in CATALOGUE and not isinstance(policy, PolicyFromCode):
            reason = f"{policy.name} is not in the catalogue, whose names identify results; "
            raise PlanError(f"{reason}simulate_all() takes it", key=("policies",))
    sources = find_sources(traces, Path())
    if not sources:
        raise PlanError("no traces are given; give at least one", key=("traces",))
    plan = Plan(
        sources,
        described,
        check_scales(scales),
        check_reallocs(reallocs),
        timelines,
        check_quantities(of),
    )
    with (
        TemporaryDirectory(prefix="simalloc-") as folder,
        any_progress("sweep", None, shown=progress) as bar,
    ):
        path = Path(folder) / "results.sqlite" if results is None else Path(results)
        shown = observer or SweepProgress(bar)
        carry_out_plan(plan, path, jobs=jobs, memory=memory, dask=dask, observer=shown)
        found = Results.read(path).of_keys({task.key for task in plan.tasks()})
        return Results(found) if results is None else found
