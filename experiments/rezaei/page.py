"""The page for docs. Its text is in `page.md`, its figures come from the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from experiments.coverage import coverage_table
from experiments.output import fill_page
from experiments.rezaei.measuring import (
    ALLOCATORS,
    IN_ANY_ORDER,
    RECORDED,
    SBT_BETTER_WC,
    SBT_WC,
    SWEPT,
    VARIANTS,
    Results,
    generated,
)
from experiments.rezaei.metrics import nodes, nodes_with_free
from experiments.rezaei.published import printed, programs
from experiments.rezaei.seeds import (
    DEPENDS,
    FAILS,
    FITS,
    HOLDS,
    SEEDS,
    Kept,
    spreads_table,
    standings,
    standings_table,
)
from experiments.rezaei.tables import (
    allocators_table,
    coalescing_percent,
    recorded_table,
    shape_table,
    statistics_table,
    variants_table,
)
from simalloc.heap import Run
from simalloc.report import Table

PAGE: Final = "rezaei.md"
FIGURES: Final = "rezaei-figures.png"

_WORDS: Final = Path(__file__).with_name("page.md")
_COVERAGE: Final = Path(__file__).with_name("coverage.csv")


def exhibits(results: Results, found: Kept) -> dict[str, Table]:
    """Return every table by its name; `found` contains the results of the seeds."""
    return {
        "claims": standings_table(results, found),
        "spreads": spreads_table(found, (*ALLOCATORS, *SBT_WC)),
        "coverage": coverage_table(_COVERAGE),
        "allocators": allocators_table(results),
        "variants": variants_table(results),
        "shape": shape_table(results),
        "recorded": recorded_table(results),
        "statistics": statistics_table(results),
    }


def page(results: Results, found: Kept, tables: Mapping[str, Table]) -> str:
    """Return the page as Markdown."""
    verdicts = {
        fit: [one.verdict for one in standings(results.read_as(fit), found)] for fit in FITS
    }

    def at_free(trace: str, policy: str) -> float:
        return results.run(trace, policy).counters.visited_at_free_mean

    merging = [coalescing_percent(results, name, SBT_BETTER_WC) for name in generated()]
    facts = {
        "rows": [float(np.mean([row[place] for row in programs()])) for place in (1, 2)],
        "averages": printed()["table2"]["average"],
        "claims": len(verdicts["better"]),
        "hold": {fit: said.count(HOLDS) for fit, said in verdicts.items()},
        "fail": {fit: said.count(FAILS) for fit, said in verdicts.items()},
        "depend": {fit: said.count(DEPENDS) for fit, said in verdicts.items()},
        "alone": sum(one.seeds >= len(SEEDS) - 1 for one in standings(results, found)),
        "seeds": len(SEEDS),
        "real": {
            name: {
                text: (nodes(run), nodes_with_free(run))
                for text in ("abt-ff", "sqf-ff", "abt-ffwc", "sqf-ffwc")
                for run in [results.run(name, text)]
            }
            for name in RECORDED
        },
        "swept_free": at_free(SWEPT, "abt-ffwc"),
        "any_free": at_free(IN_ANY_ORDER, "abt-ffwc"),
        "mended_free": at_free(SWEPT, "abt-ffwc:rebalance=100"),
        "nodes": _medians(results, nodes),
        "with_free": _medians(results, nodes_with_free),
        "blocks": _medians(results, lambda run: run.counters.free_blocks_mean),
        "sbt_percent": float(np.median(merging)),
    }
    return fill_page(_WORDS, facts, tables)


def _medians(results: Results, figure: Callable[[Run], float]) -> dict[str, float]:
    """Return the median of a figure for every allocator."""
    return {text: results.median(text, figure) for text in (*ALLOCATORS, *VARIANTS)}
