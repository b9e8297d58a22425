"""Single facts for the explanatory page, each a number computed from the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.johnstone_wilson.fragmentation import NUMBERS, Runs, comparison
from experiments.johnstone_wilson.growth_unit import ROWS_4K
from experiments.johnstone_wilson.programs import AVAILABLE, GENUINE
from experiments.johnstone_wilson.published import label, table
from experiments.johnstone_wilson.replays import Job, percent
from experiments.johnstone_wilson.sensitivity import Choice
from experiments.johnstone_wilson.statistics import Described, comparisons
from experiments.johnstone_wilson.variants import AS_PRINTED, VARIANTS, Variant
from simalloc.heap import Run
from simalloc.report import Rounded, Table
from simalloc.report.table import Value
from simalloc.trace import Trace

if TYPE_CHECKING:
    from experiments.johnstone_wilson.measuring import Results


PERL_REQUEST: Final = 2973
"""Event of Perl's largest request."""

JOBS: Final = tuple(Job("perl", AS_PRINTED.policies[row], upto=PERL_REQUEST + 1) for row in ROWS_4K)

_SHARES: Final = (0.25, 0.5, 0.75, 1.0)
_GHOSTSCRIPT_ROWS: Final = ("first-fit-lifo", "next-fit-lifo", "next-fit-fifo", "next-fit-ao")


@dataclass(frozen=True)
class Closeness:
    """Absolute differences of measured from printed cells of one table, over the genuine traces."""

    number: int
    variant: Variant
    distances: Sequence[float]
    """Absolute differences in percentage points."""

    def within(self, points: float) -> int:
        """Return the number of cells that differ by at most `points` percentage points."""
        return sum(distance <= points for distance in self.distances)


def closeness(runs: Runs) -> list[Closeness]:
    """Return the differences of tables 3 and 4 in both variants."""
    return [
        Closeness(
            number,
            variant,
            [
                abs(measured - printed)
                for _, program, printed, measured in comparison(number, variant, runs).pairs()
                if program in GENUINE
            ],
        )
        for number in NUMBERS
        for variant in VARIANTS
    ]


def closeness_table(runs: Runs) -> Table:
    """Return one row per table and variant."""
    rows: list[tuple[Value, ...]] = [
        (
            f"table {one.number}, {one.variant.key}",
            len(one.distances),
            *(one.within(points) for points in (0.1, 1, 5)),
            Rounded(median(one.distances), 2),
        )
        for one in closeness(runs)
    ]
    columns = ("", "cells", "within 0.1", "within 1", "within 5", "median")
    return Table(
        f"Distance from print, points of percent, {len(GENUINE)} genuine traces", columns, rows
    )


def statistics_gaps(described: Described, names: Sequence[str]) -> dict[int, float]:
    """Return, by table, the largest difference from print in the rows of the named programs."""
    return {
        one.published.number: max(
            abs(measured - printed) for row, _, printed, measured in one.pairs() if row in names
        )
        for one in comparisons(described)
    }


@dataclass(frozen=True)
class Request:
    """An allocation: its size, and the live bytes just after it."""

    size: int
    live: int


def widest_choice(choice: Choice, runs: Runs) -> float:
    """Return the largest spread of measure #3 or #4 over a parameter's values on any program."""
    spreads = []
    for program in AVAILABLE:
        for number in NUMBERS:
            values = [percent(runs[Job(program, choice.text(v))], number) for v in choice.values]
            spreads.append(max(values) - min(values))
    return max(spreads)


def early_request(results: Results) -> Request:
    """Return Espresso's request that brings binary buddy's heap to its peak."""
    trace = results.traces["espresso"]
    live = trace.replayed.live
    run = results.runs[Job("espresso", AS_PRINTED.policies["binary-buddy"])]
    at_peak = live == run.live_bytes_at_peak_heap
    return Request(int(trace.size[at_peak].max()), run.live_bytes_at_peak_heap)


def large_sizes(trace: Trace, above: int) -> dict[int, int]:
    """Return the requested sizes above `above` bytes, each with its number of requests."""
    sizes, counts = np.unique(trace.size[trace.size > above], return_counts=True)
    return dict(zip(sizes.tolist(), counts.tolist(), strict=True))


def perl_at_request(results: Results) -> dict[str, tuple[float, float]]:
    """Return (heap, live bytes) of each 4K row just after Perl's largest request."""
    live = int(results.traces["perl"].replayed.live[PERL_REQUEST])
    return {
        row: (results.runs[job].peak_heap_bytes, live)
        for row, job in zip(ROWS_4K, JOBS, strict=True)
    }


def lacking_16k(described: Described) -> dict[str, tuple[int, int]]:
    """Return (printed, here) of class 16K of table 2, for traces with fewer objects than print."""
    second = next(one for one in comparisons(described) if one.published.number == 2)
    return {
        row: (round(printed), round(measured))
        for row, column, printed, measured in second.pairs()
        if column == "16K" and measured < printed
    }


def objects_gaps(described: Described) -> list[int]:
    """Return the number of objects that Espresso and P2C allocate here beyond print."""
    printed = table(1).cells
    return [
        described[name].counts.lives - round(printed[name]["num objects"].value)
        for name in ("espresso", "p2c")
    ]


def equal_waits(described: Described) -> tuple[int, int]:
    """Return (cells equal to print, cells) of tables 5 and 6 on the genuine traces."""
    gaps = [
        measured - printed
        for one in comparisons(described)
        if one.published.number in {5, 6}
        for row, _, printed, measured in one.pairs()
        if row in GENUINE
    ]
    return sum(gap == 0 for gap in gaps), len(gaps)


def scaled_excess(row: str, results: Results) -> float:
    """Return Ghostscript's measure #4 in percent, scaled to the paper's allocated bytes."""
    allocated = results.described["ghostscript"].counts.bytes / 1024
    printed = table(1).cells["ghostscript"]["Kbytes alloc'd"].value
    return (
        percent(results.runs[Job("ghostscript", AS_PRINTED.policies[row])], 4) * printed / allocated
    )


def excess_table(results: Results) -> Table:
    """Return the excess of Ghostscript's heaps over its live bytes as the run progresses."""
    trace = results.traces["ghostscript"]
    rows: list[tuple[Value, ...]] = []
    for row in _GHOSTSCRIPT_ROWS:
        run = results.runs[Job("ghostscript", AS_PRINTED.policies[row])]
        values = (*_excess(trace, run), scaled_excess(row, results))
        printed = table(4).cells[row]["ghostscript"].value
        rows.append((label(row), *(Rounded(value, 1) for value in values), printed))
    columns = (
        "policy",
        *(f"{100 * share:.0f} % of {trace.size.sum() / 1e6:.1f} MB" for share in _SHARES),
        "scaled to print",
        "published",
    )
    note = (
        "A cell is the excess of the peak heap over the peak live bytes, in percent, after this "
        "share of the bytes is allocated. Scaled to print: the excess at 100 %, multiplied by "
        "the bytes allocated in the paper's run and divided by the bytes allocated here."
    )
    return Table("Ghostscript: excess over time, growth as printed", columns, rows, (note,))


def _excess(trace: Trace, run: Run) -> list[float]:
    """Return measure #4 of the run so far, in percent, at each share in `_SHARES` of the bytes."""
    allocated, line = np.cumsum(trace.size), run.timeline
    found = []
    for share in _SHARES:
        event = min(int(np.searchsorted(allocated, share * allocated[-1])), len(trace) - 1)
        upto = event // line.interval + 1
        found.append(float(100 * (line.heap_high[:upto].max() / line.live_high[:upto].max() - 1)))
    return found
