"""All measurements of the experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.detlefs.behaviour import buffers, with_buffers
from experiments.detlefs.choices import measure_choices
from experiments.detlefs.paper import KIN, PAPER
from experiments.mallocs import Progress, Runs, at_hand, replay, with_mechanism
from simalloc.trace import catalogue
from simalloc.trace.statistics import Statistics, describe


@dataclass(frozen=True)
class Results:
    """All measurements, by the program's name."""

    described: Mapping[str, Statistics]
    runs: Runs
    """Runs of every program; the traces of `buffered` programs include the stdio buffers of the
    time.
    """
    buffered: Mapping[str, int]
    """Number of added stdio buffers, for each program with at least one."""
    choices: Runs
    """Runs of the paper's programs with other numbers of buffers and other roots of the collector.
    """


def measure(progress: Progress) -> Results:
    """Load the traces, compute their statistics and replay them under the five allocators."""
    traces = {program: catalogue.load(program) for program in PAPER.programs}
    described = {program: describe(trace) for program, trace in traces.items()}
    added = {program: buffers(program, described[program]) for program in traces}
    buffered = {program: number for program, number in added.items() if number}
    replayed = traces | {
        program: with_buffers(traces[program], number) for program, number in buffered.items()
    }
    texts = [with_mechanism(name) for name in (*at_hand(PAPER), *KIN)]
    runs = replay(replayed, texts, progress)
    return Results(described, runs, buffered, measure_choices(traces, buffered, progress))
