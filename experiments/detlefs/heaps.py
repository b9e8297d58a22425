"""Tables 9 and 10: peak heaps of real allocators, including headers and tables."""

from __future__ import annotations

from experiments.comparison import Comparison
from experiments.detlefs.measuring import Results
from experiments.detlefs.paper import KILOBYTE_OF_HEAP, PAPER
from experiments.mallocs import at_hand, with_mechanism
from simalloc.heap import Run


def table_9(results: Results) -> Comparison:
    """Return the peak heaps, which include the stdio buffers of the time, beside print."""
    measured = {
        program: {
            name: run_of(results, program, name).peak_heap_bytes / KILOBYTE_OF_HEAP
            for name in at_hand(PAPER)
        }
        for program in PAPER.programs
    }
    variant = f"K of 1024; {_variant(results)}"
    return Comparison(
        PAPER.table(9), measured, variant, PAPER.label, PAPER.programs, PAPER.policies
    )


def table_10(results: Results) -> Comparison:
    """Return the peak heap over the peak live bytes, beside print."""
    measured: dict[str, dict[str, float]] = {}
    for program in PAPER.programs:
        runs = {name: run_of(results, program, name) for name in at_hand(PAPER)}
        measured[program] = {n: run.peak_heap_bytes / run.max_live_bytes for n, run in runs.items()}
    return Comparison(
        PAPER.table(10),
        measured,
        _variant(results),
        PAPER.label,
        PAPER.programs,
        PAPER.policies,
    )


def run_of(results: Results, program: str, name: str) -> Run:
    """Return the simulation of a program under an allocator."""
    return results.runs[program, with_mechanism(name)]


def _variant(results: Results) -> str:
    added = ", ".join(
        f"{number} in {PAPER.label(program)}" for program, number in results.buffered.items()
    )
    return f"with stdio buffers ({added})"
