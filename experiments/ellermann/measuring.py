"""All measurements of the experiment: the two workloads under every method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from experiments.ellermann.choices import Walks, measure_choices, total_events
from experiments.ellermann.pages import pages_touched
from experiments.mallocs import Progress
from simalloc.heap import Run, simulate, simulate_all
from simalloc.trace import Trace
from simalloc.trace.workloads import workload

SCALE: Final = 1
WORKLOADS: Final = ("ellermann-8-512", "ellermann-512-8096")
PLAIN: Final = ("first-fit-split", "next-fit-split", "best-fit-split")
CACHED: Final = tuple(f"{name}:cache={number}" for number in (10, 100) for name in PLAIN)
POLICIES: Final = (*PLAIN, "binned-fit", *CACHED)
WALKED: Final = PLAIN[:2]
"""Methods that the authors implemented and measured themselves."""


@dataclass(frozen=True)
class Results:
    """The workloads, each method's run on each, and the distances between the lists' allocations.

    Runs of the paper's own methods also count the blocks that frees visit. `pages` is the mean
    number of 4 KB pages in which a thousand consecutive allocations start. `walks` are the visited
    blocks under other interpretations of the paper.
    """

    traces: Mapping[str, Trace]
    runs: Mapping[tuple[str, str], Run]
    pages: Mapping[tuple[str, str], float]
    walks: Walks

    def per_pair(self, name: str, policy: str) -> float:
        """Return the mean number of blocks that an allocation and a free visit."""
        counters = self.runs[name, policy].counters
        return counters.visited_mean + counters.visited_at_free_mean


def measure(progress: Progress) -> Results:
    """Run every simulation; `progress` is `simalloc.cli.progress.progress` or compatible."""
    traces = {name: workload(name) for name in WORKLOADS}
    runs: dict[tuple[str, str], Run] = {}
    pages: dict[tuple[str, str], float] = {}
    events = sum(len(trace) for trace in traces.values())
    total = events * (len(POLICIES) + len(WALKED)) + total_events() * len(WALKED)
    with progress("Simulating", total) as advance:
        for name, trace in traces.items():
            done = simulate_all(trace, POLICIES, scale=SCALE, progress=advance)
            runs |= {(name, text): run for text, run in zip(POLICIES, done, strict=True)}
            for text in WALKED:
                run = simulate(
                    trace,
                    f"{text}:count_frees=on",
                    scale=SCALE,
                    addresses=True,
                    progress=advance,
                )
                assert run.addresses is not None, "it has kept them"
                runs[name, text], pages[name, text] = run, pages_touched(run.addresses)
        walks = measure_choices(WALKED, advance)
    return Results(traces, runs, pages, walks)
