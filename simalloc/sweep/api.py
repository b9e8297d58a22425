"""A sweep from Python in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

from simalloc.errors import PlanError
from simalloc.heap import Realloc
from simalloc.policy import CATALOGUE, AnyPolicy, Grid, PolicyFromCode, expand_policies
from simalloc.progress import progress as any_progress
from simalloc.sweep.finding import find_sources
from simalloc.sweep.observer import Observer
from simalloc.sweep.plan import Plan, check_reallocs, check_scales
from simalloc.sweep.progress import SweepProgress
from simalloc.sweep.results import Results
from simalloc.sweep.sweep import carry_out_plan
from simalloc.trace import Trace


def run_sweep(
    traces: Iterable[Trace | str | Path] | Trace | str | Path,
    policies: Iterable[AnyPolicy] | AnyPolicy | Mapping[str, Grid] = "all",
    *,
    scales: Iterable[int] | int | None = None,
    reallocs: Iterable[Realloc | str] | Realloc | str | None = None,
    timelines: bool = False,
    results: str | PathLike[str] | None = None,
    jobs: int | None = None,
    memory: int | None = None,
    dask: str | None = None,
    observer: Observer | None = None,
    progress: bool | None = None,
) -> Results:
    """Replay traces under policies on all cores, and return a row a run.

    A trace is a `Trace`, a path, a pattern or a bare name; a policy a `Policy`, or text such as
    `first-fit-ao:growth=64K`, `best-fit-*` or `all`. A mapping gives each policy its grid of
    parameters: `{"first-fit-ao": {"growth": ["4K", "64K"]}}`. All are combined with all `scales`
    (None: what each policy is meant for) and `reallocs` (None: in place for policies whose
    mechanism is on, else free-first).

    With `results`, the runs are kept in that file, and only those that it does not have are run;
    with `timelines` as well, so are theirs, for `Results.timeline`. `jobs`, `memory` and `dask` are
    those of `carry_out_plan`. An `observer` is told how it comes along; without one, `progress`
    says whether that is shown, and None means in notebooks. Raises `PlanError` if anything asked
    for does not exist.
    """
    if timelines and results is None:
        raise PlanError("timelines are kept in a file of results; give one")
    described = expand_policies(policies)
    for policy in described:
        if policy.name not in CATALOGUE and not isinstance(policy, PolicyFromCode):
            reason = f"{policy.name} is not in the catalogue, by whose names results are kept; "
            raise PlanError(f"{reason}simulate_all() takes it", key=("policies",))
    plan = Plan(
        find_sources(traces, Path()),
        described,
        check_scales(scales),
        check_reallocs(reallocs),
        timelines,
    )
    with (
        TemporaryDirectory(prefix="simalloc-") as folder,
        any_progress("sweep", None, shown=progress) as bar,
    ):
        path = Path(folder) / "results.sqlite" if results is None else Path(results)
        told = observer or SweepProgress(bar)
        carry_out_plan(plan, path, jobs=jobs, memory=memory, dask=dask, observer=told)
        found = Results.read(path).of_keys({task.key for task in plan.tasks()})
        return Results(found) if results is None else found
