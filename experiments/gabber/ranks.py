"""Ranks of the allocators on each trace, to separate PhK's policy from serendipity."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from experiments.gabber.measuring import Results
from experiments.gabber.paper import PAPER, PERCENT
from experiments.gabber.programs import (
    CACHES,
    EDITORS,
    EMACS,
    HUMMINGBIRD,
    heading,
)
from experiments.mallocs import at_hand, with_mechanism
from simalloc.report import Table
from simalloc.report.table import Value

LIKE_HUMMINGBIRD: Final = (HUMMINGBIRD, *CACHES)
LIKE_EMACS: Final = EDITORS


def ranks(
    results: Results, key: str, *, mechanism: bool = True, full: bool = False
) -> dict[str, int]:
    """Return each allocator's rank on a trace, 1 for the lowest fragmentation at the end.

    An allocator without a replay of the trace has no rank. `full` selects the full generated trace.
    """
    kept = results.full if full else results.outcomes
    texts = {name: with_mechanism(name) if mechanism else name for name in at_hand(PAPER)}
    outcomes = {name: kept.get((key, text)) for name, text in texts.items()}
    return _ranked({name: one.at_end for name, one in outcomes.items() if one is not None})


def printed_ranks(number: int, names: Collection[str]) -> dict[str, int]:
    """Return the ranks of some allocators in table 3 or 4; a missing figure ranks last."""
    cells = PAPER.table(number).cells
    return _ranked(
        {
            name: cells[name][PERCENT].value if PERCENT in cells[name] else float("inf")
            for name in names
        }
    )


def ranks_table(results: Results) -> Table:
    """Return each allocator's rank in print, on each trace here, and for its policy alone."""
    measured = {key: ranks(results, key) for key in (*LIKE_HUMMINGBIRD, *LIKE_EMACS)}
    third = printed_ranks(3, measured[HUMMINGBIRD])
    fourth = printed_ranks(4, measured[EMACS])
    alone = ranks(results, HUMMINGBIRD, mechanism=False)
    full = {key: ranks(results, key, full=True) for key in (HUMMINGBIRD, EMACS)}
    rows: list[tuple[Value, ...]] = [
        (
            PAPER.label(name),
            third.get(name),
            full[HUMMINGBIRD].get(name),
            *(measured[key].get(name) for key in LIKE_HUMMINGBIRD),
            alone.get(name),
            fourth.get(name),
            full[EMACS].get(name),
            *(measured[key].get(name) for key in LIKE_EMACS),
        )
        for name in at_hand(PAPER)
    ]
    columns = (
        "",
        "table 3\nprinted",
        f"{HUMMINGBIRD}\ngenerated, in full",
        *map(heading, LIKE_HUMMINGBIRD),
        f"{heading(HUMMINGBIRD)}, policy alone",
        "table 4\nprinted",
        f"{EMACS}\ngenerated, in full",
        *map(heading, LIKE_EMACS),
    )
    return Table("Ranks by fragmentation at the end; 1 is the lowest", columns, rows)


def same_order(results: Results, key: str, number: int, *, full: bool) -> tuple[int, int]:
    """Return the number of pairs of allocators in the printed order, and of all unequal pairs."""
    here = ranks(results, key, full=full)
    printed = printed_ranks(number, here)
    pairs = [(a, b) for a in printed for b in printed if printed[a] < printed[b]]
    return sum(here[a] < here[b] for a, b in pairs), len(pairs)


def _ranked(waste: Mapping[str, float]) -> dict[str, int]:
    return {name: 1 + sum(w < waste[name] for w in waste.values()) for name in waste}
