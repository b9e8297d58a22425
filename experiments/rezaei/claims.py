"""The statements in the paper's text, sentence by sentence, and our results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from experiments.rezaei.claim import Claim
from experiments.rezaei.conclusions import conclusions
from experiments.rezaei.measuring import (
    SBT_BETTER_WC,
    SBT_WC,
    Results,
)
from experiments.rezaei.metrics import internal, nodes, nodes_with_free, wasted, worst
from experiments.rezaei.published import printed
from experiments.rezaei.tables import coalescing_percent, selected
from simalloc.heap import Run


def claims(results: Results) -> list[Claim]:
    """Return every statement that can be measured; figures are medians over generated traces."""
    made = [
        *_search(results),
        *_growths(results),
        *_space(results),
        *_numbers(results),
        *conclusions(results, max(_merging(results))),
    ]
    return sorted(made, key=lambda claim: claim.section)


def _search(results: Results) -> list[Claim]:
    def at(text: str) -> float:
        return results.median(text, nodes)

    lists = _gain(results, nodes, ("sqf-ff", "sqf-bf"), ("sqf-ffwc", "sqf-bfwc"))
    trees = _gain(results, nodes, results.simple[2:], results.coalescing[2:])
    many_lists = _gain(results, nodes, ("sqf-ff", "sqf-bf"), ("sgf-ff", "sgf-bf"))
    many_trees = _gain(results, nodes, results.simple[2:], results.segregated[2:])
    few = selected(results)
    in_trees = sum(text.startswith(("abt", "sbt")) for text in few)
    order = sorted(results.twelve, key=at)
    total, list_total = (results.median(text, nodes_with_free) for text in ("abt-ffwc", "sqf-ffwc"))
    return [
        Claim(
            "trees",
            "5.2.1",
            "Six of the eight allocators that search least at an allocation are trees",
            f"{in_trees} of {len(few)}: {', '.join(few)}",
            in_trees >= printed()["text"]["selected_trees"],
        ),
        Claim(
            "sbt first",
            "5.2.1",
            "First and better fit SBT behave best",
            f"{order[0]} and {order[1]}",
            set(order[:2]) == set(results.segregated[2:]),
        ),
        Claim(
            "coalescing",
            "5.2.1",
            "Coalescing shortens searches more in lists than in trees",
            f"{lists:.1f} and {trees:.1f} times",
            lists > trees,
        ),
        Claim(
            "segregation",
            "5.2.1",
            "Segregation shortens searches more in lists than in trees",
            f"{many_lists:.1f} and {many_trees:.1f} times",
            many_lists > many_trees,
        ),
        Claim(
            "both ends",
            "5.2.1",
            "With deallocations counted too, trees remain comparable with lists",
            f"first fit with coalescing: ABT {total:.1f} nodes, SqF {list_total:.1f}",
            total < list_total,
        ),
    ]


def _growths(results: Results) -> list[Claim]:
    def growths(text: str) -> float:
        return results.median(text, lambda run: run.counters.growths)

    def spread(texts: Sequence[str]) -> float:
        calls = [growths(text) for text in texts]
        return 100 * (max(calls) / min(calls) - 1)

    simple, merged, segregated = map(
        spread, (results.simple, results.coalescing, results.segregated)
    )
    calls = sorted(
        results.simple, key=lambda text: results.median(text, lambda run: run.counters.growths)
    )
    return [
        Claim(
            "level",
            "5.2.1",
            "Segregation equalises the allocators' calls of sbrk",
            f"the maximum is {segregated:.0f} % above the minimum; {simple:.0f} % without "
            f"segregation, {merged:.0f} % with coalescing",
            segregated < simple,
        ),
        Claim(
            "best calls",
            "5.2.2",
            "Without coalescing, ABT-FF and SqF-BF call sbrk least",
            f"{calls[0]} and {calls[1]}",
            set(calls[:2]) == {"abt-ff", "sqf-bf"},
        ),
    ]


def _space(results: Results) -> list[Claim]:
    tree, one_list = (results.median(text, internal) for text in ("abt-ff", "sqf-ff"))
    small, large = (results.median(text, wasted) for text in ("sqf-bfwc", SBT_BETTER_WC))
    heap = {
        text: results.median(text, lambda run: run.peak_heap_bytes)
        for text in ("sqf-bfwc", SBT_BETTER_WC)
    }
    gain = 100 * (1 - heap["sqf-bfwc"] / heap[SBT_BETTER_WC])
    percent = printed()["text"]["sqf_bfwc_better_space_percent"]
    every = [results.median(text, wasted) for text in results.twelve]
    return [
        Claim(
            "internal",
            "5.2.2",
            "Trees have more internal fragmentation: nodes of 24 bytes, not 12",
            f"first fit: ABT {tree:.1f} %, SqF {one_list:.1f} %",
            tree > one_list,
        ),
        Claim(
            "space",
            "6",
            f"Best fit SqF takes {percent} % less memory than better fit SBT, both with coalescing",
            f"{gain:.1f} % less heap; {small:.1f} and {large:.1f} % of the heap are wasted",
            gain >= percent / 2,
        ),
        Claim(
            "wasted",
            "5.1",
            f"About {printed()['text']['wasted_percent']} % of memory is wasted",
            f"{min(every):.0f} to {max(every):.0f} % of the heap",
            max(every) >= printed()["text"]["wasted_percent"],
        ),
    ]


def _numbers(results: Results) -> list[Claim]:
    text = printed()["text"]
    low, high = text["coalescing_percent"]
    merging = _merging(results)
    listed = results.median("sqf-bfwc", nodes)
    first = results.median(SBT_BETTER_WC, nodes)
    second = results.median(SBT_BETTER_WC, lambda run: run.counters.visited_at_free_mean)
    most = results.median(SBT_BETTER_WC, worst)
    at, on = text["sbt_betterwc_nodes"]
    return [
        Claim(
            "frequency",
            "5.3",
            f"{low} to {high} % of deallocations coalesce",
            f"{min(merging):.0f} to {max(merging):.0f} %",
            low - 1 <= min(merging) and max(merging) <= high + 1,
        ),
        Claim(
            "286",
            "6",
            f"Best fit SqF with coalescing searches {text['sqf_bfwc_nodes']} nodes",
            f"{listed:.0f}",
            0.5 <= listed / text["sqf_bfwc_nodes"] <= 2,
        ),
        Claim(
            "17 + 12",
            "6",
            f"Better fit SBT with coalescing searches {at} nodes, and {on} at a deallocation",
            f"{first:.1f} and {second:.1f}",
            0.5 <= first / at <= 2 and 0.5 <= second / on <= 2,
        ),
        Claim(
            "110",
            "6",
            f"Better fit SBT with coalescing searches {text['sbt_betterwc_worst']} nodes at worst",
            f"{most:.0f}",
            0.5 <= most / text["sbt_betterwc_worst"] <= 2,
        ),
    ]


def _merging(results: Results) -> list[float]:
    """Return the percentage of deallocations that coalesce, for each allocator that coalesces.

    This includes the allocators of eight trees with coalescing (`SBT_WC`).
    """
    return [
        float(np.median([coalescing_percent(results, name, one) for name in results.names]))
        for one in (*results.coalescing, *SBT_WC)
    ]


def _gain(
    results: Results, figure: Callable[[Run], float], before: Sequence[str], after: Sequence[str]
) -> float:
    """Return the factor by which a figure falls, the geometric mean over pairs of allocators."""
    pairs = zip(before, after, strict=True)
    factors = [results.median(one, figure) / results.median(two, figure) for one, two in pairs]
    return float(np.exp(np.mean(np.log(factors))))
