"""All that is measured for the experiment: the two workloads under every method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from experiments.ellermann.walks import Walks, walks
from simalloc.heap import simulate, simulate_all
from simalloc.trace.workloads import workload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from simalloc.heap import Run
    from simalloc.trace import Trace

SCALE: Final = 1
WORKLOADS: Final = ("ellermann-8-512", "ellermann-512-8096")
PLAIN: Final = ("first-fit-split", "next-fit-split", "best-fit-split")
CACHED: Final = tuple(f"{name}:cache={number}" for number in (10, 100) for name in PLAIN)
POLICIES: Final = (*PLAIN, "binned-fit", *CACHED)
WALKED: Final = PLAIN[:2]
"""Those that the paper has written itself and measured."""


@dataclass(frozen=True)
class Results:
    """The workloads, each method's run on each, and what the lists' frees walk."""

    traces: Mapping[str, Trace]
    runs: Mapping[tuple[str, str], Run]
    walks: Mapping[tuple[str, str], Walks]

    def per_pair(self, name: str, policy: str) -> float:
        """Return the blocks that an allocation and a free look at, on average."""
        run = self.runs[name, policy]
        return run.counters.visited_mean + self.walks[name, policy].at_free


def measure(
    progress: Callable[[str, float], AbstractContextManager[Callable[[float], None]]],
) -> Results:
    """Carry out every simulation; `progress` is `simalloc.cli.progress.progress` or like it."""
    traces = {name: workload(name) for name in WORKLOADS}
    runs: dict[tuple[str, str], Run] = {}
    walked: dict[tuple[str, str], Walks] = {}
    events = sum(len(trace) for trace in traces.values())
    with progress("Simulating", events * (len(POLICIES) + len(WALKED))) as advance:
        for name, trace in traces.items():
            done = simulate_all(trace, POLICIES, scale=SCALE, progress=advance)
            runs |= {(name, text): run for text, run in zip(POLICIES, done, strict=True)}
            for text in WALKED:
                placed = simulate(trace, text, scale=SCALE, addresses=True)
                walked[name, text] = walks(trace, placed)
                advance(len(trace))
    return Results(traces, runs, walked)
