"""The page for docs. Its text is in `page.md`, its figures come from the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from experiments.coverage import coverage_table
from experiments.ellermann.choices import (
    OF_LARGE,
    SEEDED,
    choices_table,
    gains,
)
from experiments.ellermann.measuring import POLICIES, WALKED, WORKLOADS, Results
from experiments.output import fill_page
from simalloc.report import Rounded, Table
from simalloc.trace.workloads.synthetic import ELLERMANN_OBJECTS, ELLERMANN_RATE

PAGE: Final = "ellermann.md"

GLIBC_SECONDS: Final = 365.57
"""Seconds that glibc needed for 300,000 allocations of small sizes (section 4.2)."""
JEMALLOC_SECONDS: Final = 256.89
"""Seconds that jemalloc needed for 300,000 allocations of small sizes (section 4.2)."""
MISS: Final = 100
"""Nanoseconds per visited block: more than a miss in all caches takes."""
PRINTED_US: Final = 1e6 * GLIBC_SECONDS / ELLERMANN_OBJECTS
"""Microseconds per allocation, if allocations and frees took all of glibc's seconds."""

_WORDS: Final = Path(__file__).with_name("page.md")
_COVERAGE: Final = Path(__file__).with_name("coverage.csv")


def tables(results: Results) -> dict[str, Table]:
    """Return every table by its name."""
    return {
        "methods": methods_table(results),
        "walks": walks_table(results),
        "choices": choices_table(results.walks, MISS, PRINTED_US),
        "coverage": coverage_table(_COVERAGE),
    }


def methods_table(results: Results) -> Table:
    """Return the visited blocks of each method, and its space."""
    rows = []
    for name in WORKLOADS:
        for text in POLICIES:
            run = results.runs[name, text]
            counters = run.counters
            more = 100 * (run.peak_heap_bytes / run.max_live_bytes - 1)
            rows.append(
                (
                    name.removeprefix("ellermann-"),
                    text,
                    Rounded(counters.visited_mean, 1),
                    counters.visited_worst,
                    Rounded(counters.free_blocks_mean, 0),
                    counters.splits,
                    counters.coalescings,
                    Rounded(more, 1),
                )
            )
    columns = (
        "sizes",
        "method",
        "blocks visited",
        "worst",
        "free blocks",
        "splits",
        "merges",
        "heap over live %",
    )
    return Table("Generated workloads: searches and space", columns, rows)


def walks_table(results: Results) -> Table:
    """Return the total visits of the paper's own two methods."""
    rows = [
        (
            name.removeprefix("ellermann-"),
            text,
            Rounded(results.runs[name, text].counters.visited_mean, 1),
            Rounded(results.runs[name, text].counters.visited_at_free_mean, 1),
            Rounded(results.per_pair(name, text), 1),
            Rounded(results.pages[name, text], 1),
        )
        for name in WORKLOADS
        for text in WALKED
    ]
    columns = (
        "sizes",
        "method",
        "per allocation",
        "per free",
        "both",
        "pages in which 1,000 successive allocations start",
    )
    return Table("Blocks visited in a list without boundary tags", columns, rows)


def page(results: Results, shown: Mapping[str, Table]) -> str:
    """Return the page as Markdown."""
    return fill_page(_WORDS, {**_searched(results), **_gains(results)}, shown)


def _searched(results: Results) -> dict[str, float]:
    """Return the rate, and the differences of first fit and next fit in visits and in heap."""
    searches = [results.runs[WORKLOADS[0], text].counters.visited_mean for text in WALKED]
    pairs = [results.per_pair(WORKLOADS[0], text) for text in WALKED]
    facts = {
        "rate": ELLERMANN_RATE,
        "live": 2 * ELLERMANN_RATE,
        "search_gain": searches[0] / searches[1],
        "gain": pairs[0] / pairs[1],
    }
    for which, name in zip(("", "_large"), WORKLOADS, strict=True):
        first, following = (results.runs[name, text].peak_heap_bytes for text in WALKED)
        facts[f"more_heap{which}"] = 100 * (following / first - 1)
    return facts


def _gains(results: Results) -> dict[str, float]:
    """Return the gain in time, and the gain under other choices."""
    first_us, next_us = (results.per_pair(WORKLOADS[0], text) * MISS / 1000 for text in WALKED)
    large_even, large_log = (gains(results.walks, choice)[0] for choice in OF_LARGE)
    of_seeds_log = gains(results.walks, SEEDED[1])
    return {
        "glibc": GLIBC_SECONDS,
        "jemalloc": JEMALLOC_SECONDS,
        "jemalloc_rate": ELLERMANN_OBJECTS / JEMALLOC_SECONDS,
        "printed_us": PRINTED_US,
        "miss": MISS,
        "first_us": first_us,
        "next_us": next_us,
        "share": 100 * (first_us - next_us) / PRINTED_US,
        "log_least": min(of_seeds_log),
        "log_most": max(of_seeds_log),
        "large_even": large_even,
        "large_log": large_log,
    }
