"""Who wastes least on which trace: whether PhK's lead is policy or serendipity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from experiments.gabber.paper import PAPER, PERCENT
from experiments.gabber.programs import (
    CACHES,
    EMACS,
    HUMMINGBIRD,
    OTHER_SEEDS,
    heading,
    seeded,
)
from experiments.mallocs import at_hand, with_mechanism
from simalloc.report import Table

if TYPE_CHECKING:
    from experiments.gabber.measuring import Results
    from simalloc.report.table import Value

LIKE_HUMMINGBIRD: Final = (HUMMINGBIRD, *map(seeded, OTHER_SEEDS), *CACHES)
LIKE_EMACS: Final = (EMACS, "emacs")


def ranks(results: Results, key: str, *, mechanism: bool = True) -> dict[str, int]:
    """Return each allocator's rank on a trace, 1 for the least fragmentation at the end."""
    texts = {name: with_mechanism(name) if mechanism else name for name in at_hand(PAPER)}
    waste = {name: results.outcomes[key, text].at_end for name, text in texts.items()}
    return {name: 1 + sum(w < waste[name] for w in waste.values()) for name in waste}


def printed_ranks(number: int) -> dict[str, int]:
    """Return the ranks in table 3 or 4 among the allocators at hand; no figure is the worst."""
    cells = PAPER.table(number).cells
    waste = {
        name: cells[name][PERCENT].value if PERCENT in cells[name] else float("inf")
        for name in at_hand(PAPER)
    }
    return {name: 1 + sum(w < waste[name] for w in waste.values()) for name in waste}


def ranks_table(results: Results) -> Table:
    """Return every allocator's rank in print, here on each trace, and there as a policy alone."""
    third, fourth = printed_ranks(3), printed_ranks(4)
    measured = {key: ranks(results, key) for key in (*LIKE_HUMMINGBIRD, *LIKE_EMACS)}
    alone = ranks(results, HUMMINGBIRD, mechanism=False)
    rows: list[tuple[Value, ...]] = [
        (
            PAPER.label(name),
            third[name],
            *(measured[key][name] for key in LIKE_HUMMINGBIRD),
            alone[name],
            fourth[name],
            *(measured[key][name] for key in LIKE_EMACS),
        )
        for name in at_hand(PAPER)
    ]
    columns = (
        "",
        "table 3\nprinted",
        *map(heading, LIKE_HUMMINGBIRD),
        "hummingbird\npolicy alone",
        "table 4\nprinted",
        *map(heading, LIKE_EMACS),
    )
    return Table("Ranks by fragmentation at the end, 1 the least", columns, rows)


def same_order(results: Results, key: str, number: int) -> tuple[int, int]:
    """Return how many pairs of allocators that print tells apart are in its order, of how many."""
    printed, here = printed_ranks(number), ranks(results, key)
    names = list(printed)
    pairs = [(a, b) for a in names for b in names if printed[a] < printed[b]]
    return sum(here[a] < here[b] for a, b in pairs), len(pairs)
