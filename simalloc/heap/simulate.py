"""Replaying a trace under policies, each by the runner that its description names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from simalloc.heap.run import PAGE, OnRefusal, Realloc, Run
from simalloc.heap.running.runners import runner_of
from simalloc.heap.running.setting import Setting
from simalloc.policy import AnyPolicy
from simalloc.trace import EventSource

ENGINES: Final = ("core", "core-portable", "reference")


def simulate(
    source: EventSource,
    policy: AnyPolicy,
    *,
    scale: int | None = None,
    realloc: Realloc | str | None = None,
    page: int = PAGE,
    resident: bool = False,
    writes: bool = True,
    occupied: Sequence[int] = (),
    on_refusal: OnRefusal | str | None = None,
    engine: str = "core",
    addresses: bool = False,
    checked: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Replay a trace under a policy and return what came out.

    `source` is a `Trace`, or a `TraceFile`, which is read as it is replayed and may be of any
    length; `simalloc.simulate` explains what stands up to `occupied`. `engine` is `core`, in C,
    `core-portable`, in C without vector code, or `reference`, in plain Python, which takes the
    whole trace into memory. All give the same answer, to the last bit but in the means of a
    `Footprint`: the core adds up 256 events at a time, so these may differ from the reference by
    less than 1e-11 of themselves. With `addresses` the run keeps every object's address; with
    `checked` the whole heap is verified after each event, slowly. `progress` is called with the
    number of events done since its last call.

    Raises `PolicyError` for a policy that does not exist or whose Python code fails, `TraceError`
    for a file that is damaged, `SimallocError` if the heap outgrows its address space of 2**62
    bytes or memory runs out.
    """
    setting = Setting.of(
        source,
        policy,
        scale,
        realloc,
        page=page,
        resident=resident,
        writes=writes,
        occupied=occupied,
        on_refusal=on_refusal,
    )
    if engine not in ENGINES:
        raise ValueError(f"engine is {engine!r}; it takes one of {', '.join(ENGINES)}")
    return runner_of(setting.policy).run_one(
        setting, engine=engine, addresses=addresses, checked=checked, progress=progress
    )


def simulate_all(
    source: EventSource,
    policies: Sequence[AnyPolicy],
    *,
    scale: int | None = None,
    realloc: Realloc | str | None = None,
    page: int = PAGE,
    resident: bool = False,
    writes: bool = True,
    occupied: Sequence[int] = (),
    on_refusal: OnRefusal | str | None = None,
    addresses: bool = False,
    progress: Callable[[int], None] | None = None,
) -> list[Run]:
    """Replay a trace under all policies on all cores; Ctrl-C stops them within a stride.

    The trace is gone through once, by all policies side by side, so that one in a file is read
    once. With `addresses` the runs keep every object's address. `progress` is called, from any
    thread, with the number of events done since its last call. Raises as `simulate` does.
    """
    settings = [
        Setting.of(
            source,
            policy,
            scale,
            realloc,
            page=page,
            resident=resident,
            writes=writes,
            occupied=occupied,
            on_refusal=on_refusal,
        )
        for policy in policies
    ]
    runs: dict[int, Run] = {}
    for runner in dict.fromkeys(runner_of(setting.policy) for setting in settings):
        mine = [i for i, setting in enumerate(settings) if runner_of(setting.policy) is runner]
        some = [settings[i] for i in mine]
        done = runner.run_all(some, addresses=addresses, progress=progress)
        runs |= dict(zip(mine, done, strict=True))
    return [runs[i] for i in range(len(settings))]
