"""Replaying traces under policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Unpack

from simalloc.api.runs import Runs
from simalloc.api.traces import Source, open_source, open_sources
from simalloc.errors import PolicyError, SimallocError
from simalloc.heap import Run
from simalloc.heap import simulate as replay
from simalloc.heap import simulate_all as replay_all
from simalloc.heap.run_options import RunKeywords
from simalloc.policy import AnyPolicy, Grid, expand_policies
from simalloc.progress import progress as any_progress


def simulate(
    trace: Source,
    policy: AnyPolicy,
    *,
    addresses: bool = False,
    progress: bool | None = None,
    **given: Unpack[RunKeywords],
) -> Run:
    """Replay a trace under a policy and return the run.

    The trace is a `Trace`, a name of the catalogue or a path; a trace file is read while it is
    replayed and may be of any length. The policy is a `Policy`, text such as
    `"first-fit-ao:growth=64K"`, or a class derived from `UserPolicy`. With `addresses` the run
    keeps where each object was. `progress` shows a bar; None: in notebooks only. All other keyword
    arguments are fields of `RunOptions`, which documents them: `scale`, `realloc`, `page`,
    `resident`, `largest_free`, `writes`, `occupied`, `on_refusal` and `engine`.

    Raises `TraceError` and `PolicyError` for what does not exist.
    """
    _check_one(policy)
    _check_options(given)
    replayed = open_source(trace, progress=progress)
    with any_progress(replayed.name, len(replayed), shown=progress) as bar:
        return replay(replayed, policy, addresses=addresses, progress=bar, **given)


def simulate_all(
    traces: Source | Iterable[Source],
    policies: AnyPolicy | Iterable[AnyPolicy] | Mapping[str, Grid] = "all",
    *,
    progress: bool | None = None,
    **given: Unpack[RunKeywords],
) -> Runs:
    """Replay one trace or several under several policies, on all cores.

    Policies are given as for `simulate`, by patterns such as `"best-fit-*"`, as `"all"`, or as a
    mapping from names to grids of parameters, `{"first-fit-ao": {"growth": ["4K", "64K"]}}`. What
    comes back is a table that sorts, draws and becomes a data frame. For much work there is
    `run_sweep`, which keeps results in a file and goes on where it stopped. The other arguments are
    those of `simulate`.

    Raises as `simulate` does, and `PlanError` for a pattern or grid that fits nothing.
    """
    _check_options(given)
    described = expand_policies(policies)
    runs: list[Run] = []
    for trace in open_sources(traces, progress=progress):
        with any_progress(trace.name, len(trace) * len(described), shown=progress) as bar:
            runs += replay_all(trace, described, progress=bar, **given)
    return Runs(runs)


def _check_one(policy: object) -> None:
    """Raise `PolicyError` for several policies, be it a list, a group or a pattern."""
    several = bool(policy) and isinstance(policy, (list, tuple, dict, set))
    if several or (isinstance(policy, str) and (policy == "all" or set("*?[@") & set(policy))):
        raise PolicyError("simulate() takes one policy; use simulate_all() for several")


def _check_options(given: Mapping[str, object]) -> None:
    """Raise `SimallocError` for an unknown option, such as a parameter of a policy."""
    unknown = given.keys() - RunKeywords.__annotations__.keys()
    if unknown:
        name = min(unknown)
        raise SimallocError(
            f"{name} is not an option of a run; write a parameter of a policy into its text, as in "
            f"'first-fit-ao:{name}={given[name]}', or use find_policy('first-fit-ao', {name}=...)"
        )
