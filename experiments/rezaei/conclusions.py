"""The paper's conclusions from its figures, and our conclusions from ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from experiments.rezaei.claim import Claim
from experiments.rezaei.measuring import SBT_BETTER_WC, SBT_WC, Results
from experiments.rezaei.metrics import nodes, nodes_with_free, wasted, worst
from experiments.rezaei.published import printed, programs

FASTEST: Final = ("abt-ffwc", "sbt-ff", "sbt-{fit}", "abt-ff")
"""Fastest allocators of section 5.3, from figures 4 and 5; the paper prints SBT-BF."""
SMALLEST: Final = ("sqf-bfwc", "sqf-bf", "sbt-ff", "abt-ffwc")
"""Allocators with the least memory in section 5.3, from figures 5 and 8, in this order."""


def conclusions(results: Results, coalescing: float) -> list[Claim]:
    """Return the conclusions; `coalescing` is the maximum share of coalescing frees, percent."""
    return [*_traces(), *_free_blocks(results), *_choices(results), *_work(results, coalescing)]


def _traces() -> list[Claim]:
    """Return the statements of section 5.1 on table 2, which the table itself supports."""
    text = printed()["text"]
    kept = float(np.mean([one.allocations - one.deallocations for one in programs()]))
    live = float(np.mean([one.average_live * 1e6 / one.average_request for one in programs()]))
    return [
        Claim(
            "never freed",
            "5.1",
            f"About {text['never_freed']:,} objects are not deallocated",
            f"{kept:,.0f} on average, by the paper's table 2",
            0.9 <= kept / text["never_freed"] <= 1.1,
        ),
        Claim(
            "live",
            "5.1",
            f"There are {text['live_objects']:,} live objects at any time",
            f"{live:,.0f} on average, by the paper's table 2",
            0.9 <= live / text["live_objects"] <= 1.1,
        ),
    ]


def _free_blocks(results: Results) -> list[Claim]:
    def blocks(text: str) -> float:
        return results.median(text, lambda run: run.counters.free_blocks_mean)

    def spread(texts: Sequence[str]) -> float:
        return 100 * (max(map(blocks, texts)) / min(map(blocks, texts)) - 1)

    few = sorted(results.simple, key=blocks)[:2]
    apart, simple = spread(results.segregated), spread(results.simple)
    return [
        Claim(
            "few free blocks",
            "5.2.2",
            "Without coalescing, ABT-FF and SqF-BF have few free blocks",
            f"fewest: {few[0]} and {few[1]}",
            set(few) == {"abt-ff", "sqf-bf"},
        ),
        Claim(
            "level free blocks",
            "5.2.2",
            "Segregation equalises the allocators' free blocks too",
            f"the maximum is {apart:.0f} % above the minimum; {simple:.0f} % without segregation",
            apart < simple,
        ),
    ]


def _choices(results: Results) -> list[Claim]:
    by_nodes = sorted(results.twelve, key=lambda text: results.median(text, nodes))
    by_space = sorted(results.twelve, key=lambda text: results.median(text, wasted))
    fast, small = by_nodes[: len(FASTEST)], by_space[: len(SMALLEST)]
    fastest = [name.format(fit=results.fit) for name in FASTEST]
    merged = min(SBT_WC, key=lambda text: results.median(text, nodes))
    least = results.median(by_nodes[0], nodes)
    return [
        Claim(
            "fastest",
            "5.3",
            f"The four allocators that search least are {', '.join(fastest)}",
            ", ".join(fast),
            set(fast) == set(fastest),
        ),
        Claim(
            "smallest",
            "5.3",
            f"The four allocators that waste least are {', '.join(SMALLEST)}",
            ", ".join(small),
            set(small) == set(SMALLEST),
        ),
        Claim(
            "fastest of all",
            "6",
            "SBT with coalescing searches least of all at an allocation",
            f"{merged} {results.median(merged, nodes):.1f} nodes; {by_nodes[0]} {least:.1f}",
            results.median(merged, nodes) < least,
        ),
    ]


def _work(results: Results, coalescing: float) -> list[Claim]:
    text = printed()["text"]
    operations = (6 * coalescing + (100 - coalescing)) / 100

    def ratio(one: str, other: str) -> float:
        return results.median(one, worst) / results.median(other, worst)

    worsts = (ratio("sqf-ff", "abt-ff"), ratio("sqf-ffwc", "abt-ffwc"))
    tree, one_list = (
        results.median(SBT_BETTER_WC, nodes_with_free),
        results.median("sqf-bfwc", nodes),
    )
    gain = 100 * (1 - tree / one_list)
    return [
        Claim(
            "operations",
            "5.3",
            f"Coalescing adds about {text['operations']} integer operations to a deallocation",
            f"{operations:.1f} (6 if the block merges, otherwise 1)",
            abs(operations - text["operations"]) < 1,
        ),
        Claim(
            "worst",
            "5.3",
            "The maximum number of nodes searched is far smaller in trees",
            f"first fit: {worsts[0]:.0f} times fewer, {worsts[1]:.0f} times with coalescing",
            min(worsts) > 2,
        ),
        Claim(
            "90 percent",
            "6",
            "With coalescing, and with deallocations counted, better fit SBT searches "
            f"{text['fewer_percent']} % less than best fit SqF",
            f"{gain:.0f} %",
            gain >= text["fewer_percent"] / 2,
        ),
        Claim(
            "compared",
            "5.2.1",
            "Trees are comparable with lists in speed",
            _compared(results),
            all(_tree(results, fit) < _list(results, fit) for fit in ("ff", "bf")),
        ),
    ]


def _tree(results: Results, fit: str) -> float:
    return results.median(f"abt-{results.fit if fit == 'bf' else fit}", nodes)


def _list(results: Results, fit: str) -> float:
    return results.median(f"sqf-{fit}", nodes)


def _compared(results: Results) -> str:
    return "; ".join(
        f"{name} fit: ABT {_tree(results, fit):,.0f} nodes, SqF {_list(results, fit):,.0f}"
        for name, fit in (("first", "ff"), ("best", "bf"))
    )
