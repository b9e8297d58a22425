"""The tables of the page: the statistics of the traces, the allocators, their variants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.rezaei.measuring import (
    ALLOCATORS,
    IN_ANY_ORDER,
    RECORDED,
    SBT_WC,
    SHAPED,
    SWEPT,
    VARIANTS,
    Results,
    generated,
)
from experiments.rezaei.metrics import METRICS, nodes, wasted, worst
from experiments.rezaei.published import printed, programs
from simalloc.report import Rounded, Table
from simalloc.report.table import Value
from simalloc.trace import Op


def selected(results: Results) -> tuple[str, ...]:
    """Return the allocators that search the fewest nodes; figure 4 shows the same number."""
    ranked = sorted(results.twelve, key=lambda text: results.median(text, nodes))
    return tuple(ranked[: printed()["text"]["selected"]])


def coalescing_percent(results: Results, trace: str, policy: str) -> float:
    """Return the percentage of deallocations that merged blocks."""
    merging = results.run(trace, policy).counters.coalescing_frees
    return 100 * merging / results.frees(trace)


def statistics_table(results: Results) -> Table:
    """Return table 2, published and for our traces, and the statistics of the real programs."""
    rows: list[Sequence[Value]] = []
    for program, name in zip(programs(), generated(), strict=True):
        request, live = _request(results, name), _live(results, name)
        published = Rounded(program.average_request, 0), Rounded(program.average_live, 2)
        rows.append((name, *_events(results, name), published[0], request, published[1], live))
    rows += [
        (name, *_events(results, name), None, _request(results, name), None, _live(results, name))
        for name in RECORDED
    ]
    columns = (
        "trace",
        "allocations",
        "deallocations",
        "mean request, bytes: published",
        "here",
        "mean live MB: published",
        "here",
    )
    note = "The generated traces have exactly the paper's numbers of events."
    return Table("Table 2: the traces", columns, rows, (note,))


def allocators_table(results: Results) -> Table:
    """Return every metric of the allocators, medians over the generated traces."""
    return _metrics_table("Medians over the eight generated traces", results, ALLOCATORS)


def variants_table(results: Results) -> Table:
    """Return the metrics of variants: segregation with coalescing, and other interpretations."""
    return _metrics_table("Variants: medians over the eight generated traces", results, VARIANTS)


def recorded_table(results: Results) -> Table:
    """Return the results of the real programs' runs."""
    rows: list[Sequence[Value]] = [
        (
            trace,
            text,
            *(_rounded(metric.of(results.run(trace, text))) for metric in METRICS),
            Rounded(wasted(results.run(trace, text)), 1),
        )
        for trace in RECORDED
        for text in (*ALLOCATORS, *SBT_WC)
    ]
    columns = ("trace", "allocator", *_headings(), "wasted %")
    return Table("Real programs", columns, rows)


def shape_table(results: Results) -> Table:
    """Return the effects of a collection's order of frees, and of rebalancing, on trees."""
    names = (IN_ANY_ORDER, SWEPT)
    rows: list[Sequence[Value]] = [
        (
            text,
            *(
                _rounded(value)
                for name in names
                for run in [results.run(name, text)]
                for value in (nodes(run), run.counters.visited_at_free_mean, worst(run))
            ),
        )
        for text in SHAPED
    ]
    orders = ("random", "swept")
    columns = (
        "allocator",
        *(f"{order}: {search}" for order in orders for search in ("alloc.", "dealloc.", "worst")),
    )
    return Table(
        "Nodes searched: frees in random order, and in the order of allocation", columns, rows
    )


def _metrics_table(title: str, results: Results, texts: Sequence[str]) -> Table:
    rows: list[Sequence[Value]] = []
    for text in texts:
        values = [results.median(text, metric.of) for metric in METRICS]
        merging = np.median([coalescing_percent(results, name, text) for name in generated()])
        waste = results.median(text, wasted)
        rows.append((text, *map(_rounded, values), Rounded(waste, 1), Rounded(float(merging), 0)))
    columns = ("allocator", *_headings(), "wasted %", "coalescing %")
    return Table(title, columns, rows)


def _headings() -> tuple[str, ...]:
    return ("alloc.", "sbrk", "with dealloc.", "free blocks", "internal %", "worst")


def _rounded(value: float) -> Rounded:
    return Rounded(value, 1 if value < 100 else 0)


def _events(results: Results, name: str) -> tuple[int, int]:
    trace = results.traces[name]
    return int(np.count_nonzero(trace.op == Op.MALLOC)), results.frees(name)


def _request(results: Results, name: str) -> Rounded:
    trace = results.traces[name]
    return Rounded(float(trace.size[trace.op == Op.MALLOC].mean()), 0)


def _live(results: Results, name: str) -> Rounded:
    """Return the mean live megabytes over the intervals of a run's timeline."""
    line = results.run(name, SHAPED[0]).timeline
    return Rounded(float((line.live_low + line.live_high).mean()) / 2 / (1 << 20), 2)
