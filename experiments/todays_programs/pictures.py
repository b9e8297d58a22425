"""Heap maps of the cases: best fit and first fit by address, side by side."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.todays_programs.cases import CASES, PAIR, Case
from experiments.todays_programs.measuring import Results
from simalloc.heap import simulate
from simalloc.measure import heap_map
from simalloc.report.figures.heap_map import draw_heap_maps


def pictures(results: Results) -> Iterator[tuple[str, bytes]]:
    """Yield (file name, PNG) for every case; each is drawn when it is requested."""
    for case in CASES:
        yield case.picture, _picture(case, results)


def _picture(case: Case, results: Results) -> bytes:
    trace = results.traces[case.program]
    runs = [simulate(trace, policy, addresses=True) for policy in PAIR]
    titles = [
        f"{case.program}, {policy}: waste {results.waste(case.program, policy):,.1f} %"
        for policy in PAIR
    ]
    image, _ = draw_heap_maps([heap_map(trace, run) for run in runs], titles)._repr_png_()
    return image
