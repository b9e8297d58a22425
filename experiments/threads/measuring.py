"""Each recorded program with threads, under glibc's model and through the installed glibc."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from experiments.mallocs import Progress, glibc_here, model_of_glibc
from experiments.threads.arenas import Held, arenas, with_trim
from experiments.threads.processes import PROGRAMS, RECORDED, SETTINGS, Process, processes
from simalloc.advice import Setting, candidates, settings_of
from simalloc.advice.perturbed import in_another_order
from simalloc.heap import Footprint, Run, simulate_all
from simalloc.heap.real import find_allocators, replay_natively
from simalloc.trace import Trace
from simalloc.trace.catalogue import catalogue, load

CORES: Final = 2
"""Number of cores of the machine that replays natively, which limits the number of arenas."""


ORDERS: Final = 4
"""Number of other orders of its threads' events in which each program is replayed."""


@dataclass(frozen=True)
class Compared:
    """One program under one setting: resident and mapped bytes, in the model and in glibc."""

    program: str
    threads: int
    settings: str
    live: int
    final_live: int
    model_mapped: Footprint
    model: Footprint
    real_mapped: Footprint
    real: Footprint


@dataclass(frozen=True)
class Beside:
    """One program's own runs under one setting, beside the model and the replay through glibc.

    Figures are resident bytes at the peak. `orders` are the model's with other orders of the
    threads. `recorded` is the resident peak of the whole recorded process, or 0 because it ran
    under other settings.
    """

    compared: Compared
    orders: Sequence[int]
    process: Process
    recorded: int


@dataclass(frozen=True)
class TakenApart:
    """Details of the program that a limit of one arena helps most.

    `runs` are the model's runs under each of `SETTINGS`. `tried` are the runs under common settings
    of glibc. `trimmed` is the resident bytes at the end after a call of malloc_trim, in the model
    and in glibc.
    """

    program: str
    runs: Sequence[Run]
    arenas: Sequence[Held]
    trimmed: tuple[int, int]
    tried: Sequence[Setting]


@dataclass(frozen=True)
class Measured:
    """The replays of every program, one program in detail, and the programs' own runs."""

    compared: Sequence[Compared]
    apart: TakenApart
    beside: Sequence[Beside]


def measure(progress: Progress) -> Measured:
    """Compare every program.

    The memory of the programs' own runs is read from a file (`running` measures it).
    """
    names = [name for name, entry in catalogue().items() if entry.group == "threads"]
    found: list[Compared] = []
    with progress("programs with threads", len(names)) as advance:
        for name in names:
            found += compare(name)
            advance(1)
    return Measured(found, take_apart(found), beside(found))


def take_apart(compared: Sequence[Compared]) -> TakenApart:
    """Examine the program with the largest ratio of default to single-arena resident peak."""
    peaks = {(one.program, one.settings): one.real.peak_bytes for one in compared}
    program = max(
        {one.program for one in compared},
        key=lambda name: peaks[name, "default"] / peaks[name, "arena_max=1"],
    )
    trace, policies = load(program), _policies()
    real = replay_natively(with_trim(trace), find_allocators("glibc"), repeats=1)[0]
    held = arenas(trace, policies[0])
    served = replace(
        trace,
        provenance={**trace.provenance, "malloc": f"glibc {glibc_here()}", "cores": CORES},
    )
    return TakenApart(
        program,
        simulate_all(trace, policies, resident=True),
        held,
        (sum(one.trimmed for one in held), int(real.resident.final_bytes)),
        settings_of(served, [one for one in candidates() if one.allocator == "glibc"]),
    )


def compare(name: str) -> list[Compared]:
    """Return the comparison of one program under each setting."""
    trace = load(name)
    policies = _policies()
    texts = [f"glibc:{each}" if each else "glibc" for each in SETTINGS]
    allocators = [allocator for text in texts for allocator in find_allocators(text)]
    runs = simulate_all(trace, policies, resident=True)
    reals = replay_natively(trace, allocators, repeats=1)
    assert trace.thread is not None, "they were recorded for their threads"
    threads = len(set(trace.thread.tolist()))
    return [
        Compared(
            name,
            threads,
            settings or "default",
            run.max_live_bytes,
            run.final_live_bytes,
            run.mapped,
            run.resident,
            real.mapped,
            real.resident,
        )
        for settings, run, real in zip(SETTINGS, runs, reals, strict=True)
        if run.resident is not None
    ]


def beside(compared: Sequence[Compared]) -> list[Beside]:
    """Return the programs' own runs beside the replays."""
    held = processes()
    found = []
    for name in PROGRAMS:
        orders = _in_other_orders(load(name))
        for one in compared:
            if one.program == name:
                recorded = held[name, RECORDED].whole[0] if one.settings == "default" else 0
                found.append(Beside(one, orders[one.settings], held[name, one.settings], recorded))
    return found


def _policies() -> list[str]:
    """Return the model of the installed glibc under each setting."""
    default = f"{model_of_glibc()},cores={CORES}"
    return [f"{default},{each}" if each else default for each in SETTINGS]


def _in_other_orders(trace: Trace) -> dict[str, list[int]]:
    """Return the resident bytes at the peak in each order, by setting."""
    peaks = []
    for seed in range(1, ORDERS + 1):
        runs = simulate_all(in_another_order(trace, seed), _policies(), resident=True)
        peaks.append([int(run.resident.peak_bytes) for run in runs if run.resident is not None])
    names = (settings or "default" for settings in SETTINGS)
    return {name: list(under) for name, under in zip(names, zip(*peaks, strict=True), strict=True)}
