"""Traces that are made up: from a seed, or against a policy."""

from __future__ import annotations

from functools import partial

from simalloc.adversary import ADVERSARIES, attack
from simalloc.errors import SimallocError
from simalloc.policy import AnyPolicy
from simalloc.progress import Bar
from simalloc.progress import progress as any_progress
from simalloc.trace import Trace
from simalloc.trace.workloads import WORKLOADS
from simalloc.trace.workloads import workload as generate
from simalloc.trace.workloads.provenance import SEED


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
    """Return the workload of that name; the same arguments give the same trace.

    An adversary (`"robson"`, `"against-first-fit"`, `"against-best-fit"`, `"against-buddies"`)
    plays against a `policy`: it looks at where the policy puts its objects, of 1 to `largest` bytes
    and of at most `live` in all, and goes on. Its trace can be kept, and run under every policy;
    give its policy a growth of `scale` bytes where the bounds are to be met to the byte. The other
    workloads are drawn from a `seed`. `progress` shows a bar; None: in notebooks only. Ctrl-C
    ends a game, and nothing of it is kept.

    Raises `SimallocError` if there is no such workload, or an adversary has no policy.
    """
    if name not in ADVERSARIES:
        if name not in WORKLOADS:
            known = ", ".join((*WORKLOADS, *ADVERSARIES))
            raise SimallocError(f"there is no workload {name!r}; there are {known}")
        if policy is not None:
            raise SimallocError(f"{name} plays against no policy")
        return generate(name, seed)
    if policy is None:
        raise SimallocError(f"{name} plays against a policy; give one, such as first-fit-ao")
    with any_progress(name, None, shown=progress) as bar:
        count = partial(_count, bar)
        return attack(name, policy, live=live, largest=largest, scale=scale, progress=count)


def _count(bar: Bar, events: int) -> None:
    bar.text = f"{bar.done + events:,.0f} events"
    bar(events)
