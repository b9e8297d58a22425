"""Replay of a trace under policies, each by the runner that its description names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Unpack

from simalloc.heap.needed import require_for
from simalloc.heap.run import Run
from simalloc.heap.run_options import RunKeywords, RunOptions
from simalloc.heap.running.runners import runner_of
from simalloc.heap.running.setting import Setting
from simalloc.policy import AnyPolicy
from simalloc.trace import EventSource


def simulate(
    source: EventSource,
    policy: AnyPolicy,
    options: RunOptions | None = None,
    *,
    addresses: bool = False,
    checked: bool = False,
    progress: Callable[[int], None] | None = None,
    **given: Unpack[RunKeywords],
) -> Run:
    """Replay a trace under a policy and return the result.

    `source` is a `Trace`, or a `TraceFile`. A trace file is read during the replay and may have any
    length; the reference engine reads it into memory first. `RunOptions` documents the options;
    keyword arguments change its fields. All engines return identical figures, with one exception:
    the core sums 256 events at a time, therefore the means of its `Footprint` may differ from the
    reference's by a relative error of less than 1e-11. With `addresses` the run keeps every
    object's address. With `checked` the whole heap is verified after each event, which is slow.
    `progress` is called with the number of events since its last call.

    Raises `PolicyError` for a policy that does not exist or whose Python code fails, `TraceError`
    for a damaged file, and `SimallocError` if the heap outgrows its address space of 2**62 bytes or
    the replay needs more memory than may be used (simalloc/heap/needed.py).
    """
    setting = Setting.of(source, policy, options, **given)
    require_for([setting], addresses=addresses)
    return runner_of(setting.policy).run_one(
        setting, addresses=addresses, checked=checked, progress=progress
    )


def simulate_all(
    source: EventSource,
    policies: Sequence[AnyPolicy],
    options: RunOptions | None = None,
    *,
    addresses: bool = False,
    progress: Callable[[int], None] | None = None,
    **given: Unpack[RunKeywords],
) -> list[Run]:
    """Replay a trace under all policies on all cores; Ctrl-C stops them within a stride.

    All policies are replayed side by side in one pass, so that a trace file is read once. With
    `addresses` the runs keep every object's address. `progress` is called, from any thread, with
    the number of events since its last call. Raises as `simulate` does.
    """
    settings = [Setting.of(source, policy, options, **given) for policy in policies]
    require_for(settings, addresses=addresses)
    runs: dict[int, Run] = {}
    for runner in dict.fromkeys(runner_of(setting.policy) for setting in settings):
        mine = [i for i, setting in enumerate(settings) if runner_of(setting.policy) is runner]
        some = [settings[i] for i in mine]
        done = runner.run_all(some, addresses=addresses, progress=progress)
        runs |= dict(zip(mine, done, strict=True))
    return [runs[i] for i in range(len(settings))]
