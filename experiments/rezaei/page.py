"""The page for docs: its words are in `page.md`, the figures in them come from the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.output import markdown
from experiments.rezaei.claims import claims, claims_table
from experiments.rezaei.measuring import (
    ALLOCATORS,
    IN_ANY_ORDER,
    SBT_BETTER_WC,
    SWEPT,
    VARIANTS,
    generated,
)
from experiments.rezaei.metrics import nodes
from experiments.rezaei.tables import (
    allocators_table,
    coalescing_percent,
    recorded_table,
    shape_table,
    statistics_table,
    variants_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from experiments.rezaei.measuring import Results
    from simalloc.heap import Run
    from simalloc.report import Table

PAGE: Final = "rezaei.md"
FIGURES: Final = "rezaei-figures.png"

_WORDS: Final = Path(__file__).with_name("page.md")


def exhibits(results: Results) -> dict[str, Table]:
    """Return every table by its name."""
    return {
        "claims": claims_table(results),
        "allocators": allocators_table(results),
        "variants": variants_table(results),
        "shape": shape_table(results),
        "recorded": recorded_table(results),
        "statistics": statistics_table(results),
    }


def page(results: Results, tables: Mapping[str, Table]) -> str:
    """Return the page as Markdown."""
    said = claims(results)

    def at_free(trace: str, policy: str) -> float:
        return results.run(trace, policy).counters.visited_at_free_mean

    merging = [coalescing_percent(results, name, SBT_BETTER_WC) for name in generated()]
    return _WORDS.read_text(encoding="utf-8").format(
        tables={name: markdown(table) for name, table in tables.items()},
        claims=len(said),
        agree=sum(one.holds for one in said),
        swept_free=at_free(SWEPT, "abt-ffwc"),
        any_free=at_free(IN_ANY_ORDER, "abt-ffwc"),
        mended_free=at_free(SWEPT, "abt-ffwc:rebalance=100"),
        nodes=_medians(results, nodes),
        free=_medians(results, lambda run: run.counters.visited_at_free_mean),
        blocks=_medians(results, lambda run: run.counters.free_blocks_mean),
        sbt_percent=float(np.median(merging)),
    )


def _medians(results: Results, figure: Callable[[Run], float]) -> dict[str, float]:
    """Return the median of a figure for every allocator."""
    return {text: results.median(text, figure) for text in (*ALLOCATORS, *VARIANTS)}
