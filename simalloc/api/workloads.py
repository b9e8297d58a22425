"""Generated traces: drawn from a seed, or played against a policy."""

from __future__ import annotations

from functools import partial

from simalloc.adversary import ADVERSARIES, attack
from simalloc.arguments import TEXT, checked, whole
from simalloc.errors import SimallocError
from simalloc.policy import AnyPolicy
from simalloc.progress import Bar
from simalloc.progress import progress as any_progress
from simalloc.trace import Trace
from simalloc.trace.workloads import WORKLOADS, Synthetic
from simalloc.trace.workloads import generate as generate_trace
from simalloc.trace.workloads import workload as catalogued
from simalloc.trace.workloads.provenance import SEED


@checked(name=TEXT, seed=whole(), live=whole(1), largest=whole(1))
def workload(
    name: str,
    seed: int = SEED,
    *,
    policy: AnyPolicy | None = None,
    live: int = 1 << 16,
    largest: int = 1 << 8,
    scale: int | None = None,
    progress: bool | None = None,
) -> Trace:
    """Return a generated workload by its name. The same arguments give the same trace.

    An adversary (`"robson"`, `"against-first-fit"`, `"against-best-fit"`, `"against-buddies"`)
    plays against a policy: it observes where the policy places its objects and chooses its next
    requests accordingly. Its trace can be written and run under every policy. The other workloads
    are drawn from a seed. Ctrl-C ends a game without a result.

    Parameters
    ----------
    name : str
        Name of an adversary, or "lrusim", "hyper", "hummingbird", "hummingbird-tenth",
        "gabber-emacs", "gabber-emacs-tenth", "ellermann-8-512" or "ellermann-512-8096".
    seed : int, default 1
        Seed of all random draws.
    policy : str, Policy or class, optional
        The policy to play against; required for adversaries, and invalid for other workloads.
    live : int, default 65536
        Maximum live bytes of an adversary.
    largest : int, default 256
        Maximum object size of an adversary in bytes, a power of two. The minimum size is 1.
    scale : int, optional
        Scale of the policy's sizes. The bounds are reached exactly only if the policy grows by
        `scale` bytes. By default the policy's own scale, 16 or 1.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    Trace
        The workload's events in memory.

    Raises
    ------
    SimallocError
        If the workload does not exist, or an adversary has no policy.

    Examples
    --------
    >>> simalloc.workload("robson", policy="first-fit-ao:growth=16", scale=16)
    """
    if name not in ADVERSARIES:
        if name not in WORKLOADS:
            known = ", ".join((*WORKLOADS, *ADVERSARIES))
            raise SimallocError(f"unknown workload {name!r}; choose one of {known}")
        if policy is not None:
            raise SimallocError(f"{name} does not play against a policy; leave out the policy")
        return catalogued(name, seed)
    if policy is None:
        raise SimallocError(
            f"{name} needs a policy to play against; give one, such as first-fit-ao"
        )
    with any_progress(name, None, shown=progress) as bar:
        count = partial(_count, bar)
        return attack(name, policy, live=live, largest=largest, scale=scale, progress=count)


@checked(name=TEXT, seed=whole())
def generate(
    objects: int = 100_000,
    *,
    sizes: str = "lognormal",
    lifetimes: str = "exponential",
    correlation: float = 0.0,
    batch: float = 1.0,
    phases: str = "plateau",
    threads: int = 1,
    remote: float = 0.0,
    seed: int = SEED,
    name: str = "synthetic",
    progress: bool | None = None,
) -> Trace:
    """Return a synthetic trace. The same arguments give the same trace.

    A synthetic trace does not predict how a policy performs on a program, even if the trace has the
    program's sizes and lifetimes (docs/workloads.md).

    Parameters
    ----------
    objects : int, default 100000
        Number of objects to allocate.
    sizes : str, default "lognormal"
        Requested sizes in bytes: `"constant:value=64"`, `"uniform:min=16,max=1K"`,
        `"lognormal:median=64,sigma=1.2"`, `"powerlaw:alpha=2,min=16,max=1M"`,
        `"table:file=sizes.csv"` (lines `size,weight[,live]`) or `"table:trace=espresso"`.
    lifetimes : str, default "exponential"
        Lifetimes in allocations: `"exponential:mean=1000"`, `"powerlaw:alpha=2,min=1,max=100K"`,
        `"fifo:length=1000"`, `"lifo:depth=1000"`, `"generational:young=50,tenured=20000,old=0.05"`,
        `"by-size:file=sizes.csv"` (means from the table's `live`) or `"resampled:trace=espresso"`.
    correlation : float, default 0.0
        Rank correlation of size and lifetime, from -1 to 1.
    batch : float, default 1.0
        Mean number of temporal neighbours that are freed together.
    phases : str, default "plateau"
        `"plateau"`, `"ramp:kept=0.05"`, `"sawtooth:periods=4,kept=0.05"` or
        `"peaks:periods=4,width=0.1,height=10"`.
    threads : int, default 1
        Number of threads. A random thread allocates each object.
    remote : float, default 0.0
        Share of the objects that another thread frees, from 0 to 1.
    seed : int, default 1
        Seed of all random draws.
    name : str, default "synthetic"
        Name of the trace.
    progress : bool, optional
        Show a progress bar. By default the bar is shown in notebooks only.

    Returns
    -------
    Trace
        The synthetic events in memory.

    Raises
    ------
    SimallocError
        If a distribution is unknown, if a value is out of range, or if memory is exhausted.

    Examples
    --------
    >>> trace = simalloc.generate(sizes="powerlaw:alpha=1.5", lifetimes="generational")
    >>> simalloc.simulate_all(trace, ["first-fit-ao", "binary-buddy"])
    """
    described = Synthetic(objects, sizes, lifetimes, correlation, batch, phases, threads, remote)
    with any_progress(name, 1.0, shown=progress) as bar:
        return generate_trace(described, seed, name, progress=bar)


def _count(bar: Bar, events: int) -> None:
    bar.text = f"{bar.done + events:,.0f} events"
    bar(events)
