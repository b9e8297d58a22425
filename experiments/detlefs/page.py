"""The explanatory page: agreements with the paper, differences, and their causes.

A test (tests/papers/test_detlefs.py) checks that docs shows the same figures. If they change, read
the text again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from experiments.detlefs.choices import (
    COLLECTOR,
    ROOTS,
    collector_heap,
    heap,
)
from experiments.detlefs.heaps import table_9, table_10
from experiments.detlefs.measuring import Results
from experiments.detlefs.paper import NEAR, PAPER, SAME_RUN
from experiments.detlefs.verdict import space_order
from experiments.mallocs import at_hand, missing
from experiments.output import Exhibit, fill_page, listed

PAGE: Final = "detlefs.md"

_WORDS: Final = Path(__file__).with_name("page.md")


def page(results: Results, exhibits: Mapping[str, Exhibit]) -> str:
    """Return the page as Markdown."""
    return fill_page(_WORDS, _facts(results), exhibits)


def _facts(results: Results) -> dict[str, Any]:
    absent = [PAPER.label(name) for name in missing(PAPER)]
    return {
        "paper": PAPER.about["paper"],
        "programs": listed([PAPER.label(program) for program in PAPER.programs]),
        **_heaps(results),
        **_choices(results),
        "absent": f"Not modelled here: {listed(absent)}." if absent else "",
    }


def _heaps(results: Results) -> dict[str, Any]:
    """Return the counts of heaps and quotients near print, and programs in the printed order."""
    heaps = [
        here / printed
        for program, _, printed, here in table_9(results).pairs()
        if program in SAME_RUN
    ]
    quotients = [here / printed for _, _, printed, here in table_10(results).pairs()]
    return {
        "near_heaps": sum(abs(ratio - 1) <= NEAR for ratio in heaps),
        "all_heaps": len(heaps),
        "near_quotients": sum(abs(ratio - 1) <= NEAR for ratio in quotients),
        "all_quotients": len(quotients),
        "order": space_order(results),
        "bw": _ends(table_10(results).measured[program][COLLECTOR] for program in PAPER.programs),
        "bw_printed": _ends(
            PAPER.table(10).cells[program][COLLECTOR].value for program in PAPER.programs
        ),
        "programs_count": len(PAPER.programs),
    }


def _ends(values: Iterable[float]) -> tuple[float, float]:
    """Return the minimum and the maximum."""
    ordered = sorted(values)
    return ordered[0], ordered[-1]


def _choices(results: Results) -> dict[str, Any]:
    runs, buffered = results.choices, results.buffered
    return {
        "cfrac": {
            name: [heap(runs, "cfrac", number, name) for number in (0, 1)]
            for name in at_hand(PAPER)
        },
        "collector": {
            program: [collector_heap(runs, program, buffered, roots) for roots in ROOTS]
            for program in SAME_RUN
        },
        "collector_printed": {p: PAPER.table(9).cells[p][COLLECTOR].value for p in SAME_RUN},
    }
