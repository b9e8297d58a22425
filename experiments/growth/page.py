"""The explanatory page. Its text is in `page.md`, its figures come from the replays.

A test (tests/papers/test_growth.py) checks that docs shows the same figures. If they change, read
the text again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from experiments.growth.findings import BEST, FIRST, Findings
from experiments.growth.measuring import CLOSELY, FINE, SCALE, UNITS, grown_by
from experiments.growth.synthetic import SMALL, STEP, STEPS, SYNTHETIC, growing_block
from experiments.growth.tables import all_tables, spell_unit
from experiments.johnstone_wilson.growth_unit import DESCRIBED
from experiments.output import fill_page
from experiments.todays_programs.facts import Pieces, pieces
from simalloc.heap import simulate
from simalloc.measure import heap_map
from simalloc.report.figures.heap_map import draw_heap_maps

PAGE: Final = "growth-unit.md"
PICTURE: Final = "growth-unit.png"
DRAWN: Final = ((BEST, 16 * SCALE), (BEST, DESCRIBED * SCALE), (FIRST, DESCRIBED * SCALE))
"""Policies and units of the heap maps of the synthetic trace, from left to right."""
SHOWN: Final = 24
"""Number of the synthetic trace's events in the heap maps; later blocks would dwarf earlier blocks.
"""

_WORDS: Final = Path(__file__).with_name("page.md")


def page(found: Findings) -> str:
    """Return the page as Markdown."""
    return fill_page(_WORDS, {**_facts(found), **_of_resident(found)}, all_tables(found))


def picture() -> bytes:
    """Return heap maps of the growing block as a PNG."""
    trace = growing_block().prefix(SHOWN)
    runs = [simulate(trace, grown_by(*drawn), addresses=True) for drawn in DRAWN]
    titles = [f"{policy}, unit {spell_unit(unit)}" for policy, unit in DRAWN]
    image, _ = draw_heap_maps([heap_map(trace, run) for run in runs], titles)._repr_png_()
    return image


def holes(policy: str, unit: int) -> Pieces:
    """Return the free blocks at the peak of the growing block's heap."""
    trace = growing_block()
    return pieces(trace, simulate(trace, grown_by(policy, unit), addresses=True), STEP)


def _of_resident(found: Findings) -> dict[str, Any]:
    wide = ("perl5", "ginsh")
    return {
        "resident_first": max(spread.width for spread in found.resident_spreads(FIRST)),
        "resident_best": max(
            spread.width for spread in found.resident_spreads(BEST) if spread.trace not in wide
        ),
    }


def _facts(found: Findings) -> dict[str, Any]:
    described = DESCRIBED * SCALE
    moved = {
        trace: (
            found.outcome(trace, BEST, UNITS[0]).waste,
            found.outcome(trace, BEST, described).waste,
        )
        for trace in CLOSELY
    }
    wide = [spread.trace for spread in found.spreads(BEST) if spread.width > 5]
    return {
        "traces": len(found.traces),
        "most_kib": UNITS[-1] // SCALE // 1024,
        "described": DESCRIBED,
        "best_paper": found.most_on_paper(BEST),
        "first_paper": found.most_on_paper(FIRST),
        "first_widest": found.widest(FIRST),
        "best_wide": " and ".join(f"`{trace}`" for trace in wide),
        "best_others": len(found.traces) - len(wide),
        "next_widest": max(s.width for s in found.spreads(BEST) if s.trace not in wide),
        "moved": moved,
        "first_synthetic": found.outcome(SYNTHETIC, FIRST, described).waste,
        "perl5_most": found.spread("perl5", BEST).most,
        "perl5_first": found.spread("perl5", FIRST),
        "step": STEP,
        "steps": STEPS,
        "small": SMALL,
        "fine": 16,
        "coarse": 32,
        "synthetic_fine": found.outcome(SYNTHETIC, BEST, 16 * SCALE).waste,
        "synthetic_coarse": found.outcome(SYNTHETIC, BEST, 32 * SCALE).waste,
        "shown": SHOWN,
        "lea_most": max(
            found.outcome(SYNTHETIC, "lea-2.6.1", unit).waste for unit in (*UNITS, *FINE)
        ),
        "holes": holes(BEST, described),
        "holes_fine": holes(BEST, 16 * SCALE),
    }
