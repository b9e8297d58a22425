"""Replays of traces under policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Unpack

from simalloc.api.runs import Runs
from simalloc.api.traces import Source, open_source, open_sources
from simalloc.arguments import FLAG, checked
from simalloc.errors import SimallocError
from simalloc.heap import Run
from simalloc.heap import simulate as replay
from simalloc.heap import simulate_all as replay_all
from simalloc.heap.run_options import RunKeywords
from simalloc.policy import AnyPolicy, Grid, expand_policies
from simalloc.progress import progress as any_progress


@checked(addresses=FLAG)
def simulate(
    trace: Source,
    policy: AnyPolicy,
    *,
    addresses: bool = False,
    progress: bool | None = None,
    **options: Unpack[RunKeywords],
) -> Run:
    """Replay a trace under a policy and return the run.

    A trace file is read during the replay and may have any length.

    Parameters
    ----------
    trace : Trace, TraceFile, str or path
        A trace, its name in the catalogue, or the path of a trace or log.
    policy : str, Policy or class
        A policy such as `"first-fit-ao:growth=64K"`, or a class derived from `UserPolicy`.
    addresses : bool, default False
        Keep the address of every object in `Run.addresses`.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.
    scale : int, optional
        Factor from 1 to 4096 for all sizes. By default each policy has its own: 16 or 1.
    realloc : {"free-first", "move", "in-place"}, optional
        Rule for realloc events. By default in place for policies with `mechanism=on`, else
        free-first.
    page : int, default 4096
        Page size in bytes for resident memory: a power of two from 1 KiB to 1 GiB.
    resident : bool, default False
        Measure resident bytes (`Run.resident`).
    largest_free : bool, default False
        Measure the size of the largest free block (`Run.largest_free`).
    writes : bool, default True
        True if the program writes every byte that it requests, False if it writes none.
    occupied : sequence of int, default ()
        Page sizes in bytes for which pages with a live byte are counted (`Run.occupied`).
    on_refusal : {"go-on", "stop"}, optional
        Behaviour after a refused request. By default stop for device allocators, else go on.
    start : Start, optional
        Heap of a process that a run of ptmalloc begins with.
    engine : {"core", "core-portable", "reference"}, default "core"
        The C core, the C core without vector code, or the reference engine in Python.

    Returns
    -------
    Run
        Peak and mean heap, four measures of fragmentation, timelines and counts of the allocator's
        work.

    Raises
    ------
    TraceError, PolicyError
        If the trace or the policy does not exist.
    SimallocError
        If an option is unknown or its value is invalid.

    Examples
    --------
    >>> run = simalloc.simulate("espresso", "best-fit-ao")
    >>> run.peak_heap_bytes, run.max_live_bytes
    """
    _check_options(options)
    replayed = open_source(trace, progress=progress)
    with any_progress(replayed.name, len(replayed), shown=progress) as bar:
        return replay(replayed, policy, addresses=addresses, progress=bar, **options)


@checked()
def simulate_all(
    traces: Source | Iterable[Source],
    policies: AnyPolicy | Iterable[AnyPolicy] | Mapping[str, Grid] = "all",
    *,
    progress: bool | None = None,
    **options: Unpack[RunKeywords],
) -> Runs:
    """Replay one or more traces under several policies, on all cores.

    For longer work, `run_sweep` stores its results in a file and resumes after an interruption.

    Parameters
    ----------
    traces : one or more of Trace, TraceFile, str or path
        Traces as for `simulate`.
    policies : Policy, str, sequence or mapping, default "all"
        Policies as for `simulate`, lists such as `"first-fit-ao,jemalloc"`, patterns such as
        `"best-fit-*"`, groups such as `"@johnstone-wilson"`, or a mapping from names to grids of
        parameters such as `{"first-fit-ao": {"growth": ["4K", "64K"]}}`.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.
    **options
        Fields of `RunOptions`, as for `simulate`.

    Returns
    -------
    Runs
        One run for each trace and policy. `Runs` can be sorted, drawn and converted to a data
        frame.

    Raises
    ------
    TraceError, PolicyError
        If a trace or a policy does not exist.
    PlanError
        If a pattern or a grid matches no policy.
    SimallocError
        If an option is unknown or its value is invalid.

    Examples
    --------
    >>> runs = simalloc.simulate_all(["espresso", "gawk"], ["first-fit-ao", "best-fit-ao"])
    >>> runs.sorted("#4")
    """
    _check_options(options)
    described = expand_policies(policies)
    runs: list[Run] = []
    for trace in open_sources(traces, progress=progress):
        with any_progress(trace.name, len(trace) * len(described), shown=progress) as bar:
            runs += replay_all(trace, described, progress=bar, **options)
    return Runs(runs)


def _check_options(options: Mapping[str, object]) -> None:
    """Raise `SimallocError` for an unknown option, such as a parameter of a policy."""
    unknown = options.keys() - RunKeywords.__annotations__.keys()
    if unknown:
        name = min(unknown)
        raise SimallocError(
            f"{name} is not an option of a run; write a parameter of a policy into its text, as in "
            f"'first-fit-ao:{name}={options[name]}', or use find_policy('first-fit-ao', {name}=...)"
        )
